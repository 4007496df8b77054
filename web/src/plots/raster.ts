// Lines with more samples than pixels, written into the picture column by column: no path is as
// fast, and nothing of a thousand samples in one pixel but their extremes could be seen anyway.
import type { Trace } from "../api/signal";

export interface Raster {
  pixels: Uint32Array;
  width: number;
  height: number;
  /** Pixels across for a time, and down for a value. */
  x: (timeNs: number) => number;
  y: (value: number) => number;
  thick: number;
}

/** "#1c5fb0" as a pixel; null for a colour that is written in another way. */
export function pixelOf(ink: string): number | null {
  const found = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(ink);
  if (!found) return null;
  const [red = 0, green = 0, blue = 0] = found.slice(1).map((part) => Number.parseInt(part, 16));
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Draw samples `first` to `stop` of a column; runs are broken at gaps and where values are lost. */
export function rasterLine(
  raster: Raster,
  trace: Trace,
  column: number,
  first: number,
  stop: number,
  pixel: number,
): void {
  const lows = trace.low.get(column);
  const highs = trace.high.get(column);
  if (!lows || !highs) return;
  const { time, gap } = trace;
  let before: { place: number; top: number; bottom: number } | null = null;
  let at = first;
  while (at < stop) {
    let low = lows[at] as number;
    let high = highs[at] as number;
    if (gap[at] === 1) before = null;
    const place = Math.floor(raster.x(time[at] as number));
    at += 1;
    if (Number.isNaN(low)) {
      before = null;
      continue;
    }
    while (at < stop && gap[at] !== 1 && Math.floor(raster.x(time[at] as number)) === place) {
      const nextLow = lows[at] as number;
      if (Number.isNaN(nextLow)) break;
      if (nextLow < low) low = nextLow;
      const nextHigh = highs[at] as number;
      if (nextHigh > high) high = nextHigh;
      at += 1;
    }
    const top = Math.round(raster.y(high));
    const bottom = Math.max(Math.round(raster.y(low)), top + raster.thick - 1);
    if (before) bridge(raster, before, { place, top, bottom }, pixel);
    upright(raster, place, top, bottom, pixel);
    before = { place, top, bottom };
  }
}

interface Column {
  place: number;
  top: number;
  bottom: number;
}

/** Fill what lies between two columns of pixels, so that the line does not fall apart. */
function bridge(raster: Raster, from: Column, to: Column, pixel: number): void {
  const steps = to.place - from.place;
  if (steps > raster.width * 2) return;
  for (let step = 1; step < steps; step += 1) {
    const share = step / steps;
    const top = Math.round(from.top + (to.top - from.top) * share);
    const bottom = Math.round(from.bottom + (to.bottom - from.bottom) * share);
    upright(raster, from.place + step, top, bottom, pixel);
  }
  if (to.top > from.bottom) upright(raster, to.place, from.bottom, to.top, pixel);
  else if (to.bottom < from.top) upright(raster, to.place, to.bottom, from.top, pixel);
}

function upright(
  { pixels, width, height }: Raster,
  place: number,
  top: number,
  bottom: number,
  pixel: number,
): void {
  if (place < 0 || place >= width) return;
  const last = Math.min(bottom, height - 1) * width + place;
  for (let at = Math.max(top, 0) * width + place; at <= last; at += width) pixels[at] = pixel;
}
