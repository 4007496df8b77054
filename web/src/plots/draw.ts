// Puts one plot on its canvas. A column of pixels shows the extremes of all samples within it.
import type { Trace } from "../api/signal";
import { frameAt } from "../player/clock";
import { pixelOf, type Raster, rasterLine } from "./raster";
import { type Range, ticks, tickText } from "./scale";

/** Left of a plot: its numbers; left of the timeline: the names of its rows. As in tokens.css. */
export const GUTTER = 84;
const DOT_PX = 9;

export interface Inks {
  paper: string;
  rule: string;
  ink: string;
  strong: string;
  lines: string[];
  severity: Record<string, string>;
}

export interface Mark {
  startNs: number;
  endNs: number;
  severity: string;
  isSelected: boolean;
}

export interface Line {
  trace: Trace;
  column: number;
  ink: string;
  isDashed: boolean;
}

export interface Picture {
  startNs: number;
  endNs: number;
  range: Range | null;
  lines: Line[];
  marks: Mark[];
  limits: number[];
  /** Whether the line of zero is drawn stronger. */
  zero?: boolean;
}

interface Frame {
  left: number;
  width: number;
  height: number;
  x: (timeNs: number) => number;
  y: (value: number) => number;
}

export function drawPicture(canvas: HTMLCanvasElement, picture: Picture, inks: Inks): void {
  const scale = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (!context || width < GUTTER + 10 || height < 10) return;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  const frame = frameOf(picture, width, height);
  drawMarks(context, picture, inks, frame);
  drawGrid(context, picture, inks, frame);
  context.save();
  context.beginPath();
  context.rect(frame.left, 0, frame.width, height);
  context.clip();
  drawLimits(context, picture, inks, frame);
  drawLines(context, picture, frame, scale);
  context.restore();
}

const scratch: { canvas: HTMLCanvasElement | null; image: ImageData | null } = {
  canvas: null,
  image: null,
};

/** The many-sampled lines first, as pixels; the others over them, as paths. */
function drawLines(
  context: CanvasRenderingContext2D,
  picture: Picture,
  frame: Frame,
  scale: number,
): void {
  const paths: Line[] = [];
  let raster: Raster | null = null;
  for (const line of picture.lines) {
    const [first, stop] = shownOf(line, picture);
    // Paths are smoother, and fast enough for some samples in each pixel; extremes need no slopes.
    const isDense = stop - first > frame.width * (line.trace.isSamples ? 2.5 : 1);
    const pixel = isDense ? pixelOf(line.ink) : null;
    if (pixel === null) paths.push(line);
    else {
      raster ??= emptyRaster(frame, scale);
      rasterLine(raster, line.trace, line.column, first, stop, pixel);
    }
  }
  if (raster && scratch.canvas && scratch.image) {
    scratch.canvas
      .getContext("2d", { willReadFrequently: true })
      ?.putImageData(scratch.image, 0, 0);
    context.drawImage(scratch.canvas, frame.left, 0, raster.width / scale, raster.height / scale);
  }
  for (const line of paths) drawLine(context, line, picture, frame);
}

/** One canvas beside the page serves all plots, as they are drawn one after the other. */
function emptyRaster(frame: Frame, scale: number): Raster {
  const width = Math.max(Math.round(frame.width * scale), 1);
  const height = Math.max(Math.round(frame.height * scale), 1);
  scratch.canvas ??= document.createElement("canvas");
  if (scratch.image?.width !== width || scratch.image.height !== height) {
    scratch.canvas.width = width;
    scratch.canvas.height = height;
    scratch.image = new ImageData(width, height);
  }
  const pixels = new Uint32Array(scratch.image.data.buffer);
  pixels.fill(0);
  const { x, y, left } = frame;
  return {
    pixels,
    width,
    height,
    x: (timeNs) => (x(timeNs) - left) * scale,
    y: (value) => y(value) * scale,
    thick: Math.max(1, Math.round(1.25 * scale)),
  };
}

/** The samples of a line that can be seen, and one on either side. */
function shownOf({ trace }: Line, picture: Picture): [number, number] {
  const first = Math.max(frameAt(trace.time, picture.startNs) - 1, 0);
  return [first, Math.min(frameAt(trace.time, picture.endNs) + 2, trace.time.length)];
}

function frameOf({ startNs, endNs, range }: Picture, width: number, height: number): Frame {
  const inner = width - GUTTER;
  const across = inner / (endNs - startNs);
  const { low, high } = range ?? { low: 0, high: 1 };
  const up = (height - 4) / (high - low);
  return {
    left: GUTTER,
    width: inner,
    height,
    x: (timeNs) => GUTTER + (timeNs - startNs) * across,
    y: (value) => height - 2 - (value - low) * up,
  };
}

function drawMarks(
  context: CanvasRenderingContext2D,
  picture: Picture,
  inks: Inks,
  frame: Frame,
): void {
  for (const mark of picture.marks) {
    if (mark.endNs < picture.startNs || mark.startNs > picture.endNs) continue;
    const from = Math.max(frame.x(mark.startNs), frame.left);
    const to = Math.min(frame.x(mark.endNs), frame.left + frame.width);
    context.fillStyle = inks.severity[mark.severity] ?? inks.rule;
    context.globalAlpha = mark.isSelected ? 0.32 : 0.16;
    context.fillRect(from, 0, Math.max(to - from, 3), frame.height);
    context.globalAlpha = mark.isSelected ? 1 : 0.7;
    context.fillRect(from, 0, Math.max(to - from, 3), mark.isSelected ? 3 : 2);
    context.globalAlpha = 1;
  }
}

function drawGrid(
  context: CanvasRenderingContext2D,
  picture: Picture,
  inks: Inks,
  frame: Frame,
): void {
  context.strokeStyle = inks.rule;
  context.fillStyle = inks.ink;
  context.lineWidth = 1;
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.beginPath();
  for (const second of ticks(picture.startNs / 1e9, picture.endNs / 1e9, frame.width / 90)) {
    const x = Math.round(frame.x(second * 1e9)) + 0.5;
    context.moveTo(x, 0);
    context.lineTo(x, frame.height);
  }
  const { range } = picture;
  const levels = range ? ticks(range.low, range.high, frame.height / 24) : [];
  const step =
    levels.length > 1 ? (levels[1] as number) - (levels[0] as number) : Math.abs(levels[0] ?? 1);
  for (const level of levels) {
    const y = Math.round(frame.y(level)) + 0.5;
    context.moveTo(frame.left, y);
    context.lineTo(frame.left + frame.width, y);
    context.fillText(
      tickText(level, step),
      frame.left - 6,
      Math.min(Math.max(y, 7), frame.height - 7),
    );
  }
  context.stroke();
  if (picture.zero && range && range.low < 0 && range.high > 0) drawZero(context, inks, frame);
}

function drawZero(context: CanvasRenderingContext2D, inks: Inks, frame: Frame): void {
  const y = Math.round(frame.y(0)) + 0.5;
  context.strokeStyle = inks.ink;
  context.beginPath();
  context.moveTo(frame.left, y);
  context.lineTo(frame.left + frame.width, y);
  context.stroke();
}

function drawLimits(
  context: CanvasRenderingContext2D,
  picture: Picture,
  inks: Inks,
  frame: Frame,
): void {
  context.strokeStyle = inks.severity.fail ?? inks.strong;
  context.lineWidth = 1;
  context.setLineDash([6, 4]);
  for (const limit of picture.limits) {
    const y = Math.round(frame.y(limit)) + 0.5;
    context.beginPath();
    context.moveTo(frame.left, y);
    context.lineTo(frame.left + frame.width, y);
    context.stroke();
  }
  context.setLineDash([]);
}

function drawLine(
  context: CanvasRenderingContext2D,
  line: Line,
  picture: Picture,
  frame: Frame,
): void {
  const { trace, column } = line;
  const lows = trace.low.get(column);
  const highs = trace.high.get(column);
  if (!lows || !highs) return;
  const [first, stop] = shownOf(line, picture);
  context.strokeStyle = line.ink;
  context.fillStyle = line.ink;
  context.lineWidth = 1.25;
  context.lineJoin = "bevel";
  context.setLineDash(line.isDashed ? [5, 3] : []);
  context.globalAlpha = line.isDashed ? 0.8 : 1;
  context.beginPath();
  const isSparse = trace.isSamples && (stop - first) * DOT_PX < frame.width;
  tracePath(context, line, { lows, highs, first, stop, isSparse }, frame);
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = 1;
}

interface Run {
  lows: ArrayLike<number>;
  highs: ArrayLike<number>;
  first: number;
  stop: number;
  isSparse: boolean;
}

/** A line through the samples, lifted at gaps and where values are lost. */
function tracePath(
  context: CanvasRenderingContext2D,
  { trace }: Line,
  run: Run,
  frame: Frame,
): void {
  const { lows, highs, first, stop } = run;
  const { time, gap } = trace;
  let isDrawing = false;
  for (let place = first; place < stop; place += 1) {
    const low = lows[place] as number;
    const high = highs[place] as number;
    if (Number.isNaN(low)) {
      isDrawing = false;
      continue;
    }
    const x = frame.x(time[place] as number);
    const isAlone = !isDrawing || gap[place] === 1;
    if (isAlone) context.moveTo(x, frame.y(low));
    else context.lineTo(x, frame.y(low));
    if (low !== high) context.lineTo(x, frame.y(high));
    const endsHere =
      place + 1 >= stop || gap[place + 1] === 1 || Number.isNaN(lows[place + 1] as number);
    // A sample with nothing on either side would leave no trace of a line.
    if (run.isSparse || (isAlone && endsHere))
      context.fillRect(x - 1.75, frame.y(high) - 1.75, 3.5, 3.5);
    isDrawing = true;
  }
}
