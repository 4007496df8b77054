import { useEffect, useRef } from "react";
import type { TactileMap } from "../api/schema";
import type { Clock } from "../player/clock";
import { heatOf, heatTable, type Readout, readOut, unitText } from "./heat_scale";
import { MotionTrack } from "./motion_track";

interface HeatMapProps {
  id: string;
  map: TactileMap;
  clock: Clock;
}

const table = heatTable();
const readEveryMs = 100;
/** Less of the range than this is no touch that anybody could see. */
const TOUCHED = 0.02;

/** One tactile map: a picture element per taxel, drawn again only when another sample is due. */
export function HeatMap({ id, map, clock }: HeatMapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const readout = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const pen = canvas.current?.getContext("2d", { willReadFrequently: true });
    if (!pen) return;
    const picture = pen.createImageData(map.width, map.height);
    const sizes = new Float32Array(map.width * map.height);
    let shown = -2;
    let said = 0;
    let later = 0;
    const tell = (found: Readout) => {
      said = performance.now();
      if (readout.current)
        readout.current.textContent = shown < 0 ? "not yet" : readingOf(found, map.unit);
    };
    const draw = () => {
      const sample = track.at(clock.timeNs);
      if (!sample || sample.frame === shown) return;
      shown = sample.frame;
      const found = readOut(sample.values, map.depth, sizes);
      sizes.forEach((size, taxel) => {
        const tone = 4 * heatOf(size, map.low, map.high);
        picture.data.set(table.subarray(tone, tone + 4), 4 * taxel);
      });
      pen.putImageData(picture, 0, 0);
      if (canvas.current) {
        canvas.current.dataset.frame = String(shown);
        const isStill = !(found.peak > map.low + TOUCHED * (map.high - map.low));
        canvas.current.parentElement?.toggleAttribute("data-still", isStill);
      }
      // Nobody reads faster, and a text that changes makes the page lay itself out.
      clearTimeout(later);
      later = window.setTimeout(
        () => tell(found),
        clock.isPlaying ? readEveryMs - (performance.now() - said) : 0,
      );
    };
    const track = new MotionTrack(
      id,
      map.stream,
      map.rate_hz,
      map.width * map.height * map.depth,
      draw,
      clock.endNs,
    );
    const stop = clock.subscribe(draw);
    return () => {
      stop();
      clearTimeout(later);
      track.close();
    };
  }, [id, map, clock]);
  const name = map.name.replaceAll("_", " ");
  return (
    <figure className="tactile-map">
      <canvas
        ref={canvas}
        width={map.width}
        height={map.height}
        role="img"
        aria-label={`${name}: ${map.height} by ${map.width} taxels`}
        data-stream={map.stream}
      />
      <figcaption>
        <b>{name}</b>
        <span className="num" ref={readout} />
      </figcaption>
    </figure>
  );
}

/** Pressures do not add up to anything; forces do. */
function readingOf({ peak, sum }: Readout, unit: string): string {
  return unit === "N"
    ? `${unitText(sum, unit)} in all, peak ${unitText(peak, unit)}`
    : `peak ${unitText(peak, unit)}`;
}
