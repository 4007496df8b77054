import { useCallback, useEffect, useRef, useState } from "react";
import { type DepthFrame, getDepth } from "../api/movie";
import type { EpisodeDetail, EpisodeStream } from "../api/schema";
import { getStamps } from "../api/stamps";
import { useAnswer } from "../api/use_answer";
import type { Clock } from "./clock";
import { colourDepth } from "./depth_colours";
import { DepthLegend, type DepthRange } from "./depth_legend";
import { FetchedFrames } from "./fetched_frames";
import type { FrameListener } from "./frame_source";
import { useFrames, useReturn } from "./use_frames";
import { type TileControls, ViewTile } from "./view_tile";

export interface DepthTileProps extends TileControls {
  episode: EpisodeDetail;
  stream: EpisodeStream;
  clock: Clock;
  isActive: boolean;
}

/** Wider pictures are thinned out: so many columns fill a tile, small or large. */
const mostColumns = { small: 360, large: 1280 };

/** Depth in colours, at exactly the frame of the clock's time; the pointer reads the distance. */
export function DepthTile({ episode, stream, clock, isActive, ...controls }: DepthTileProps) {
  const answer = useAnswer(
    (signal) => getStamps(episode.id, stream.path, signal),
    [episode.id, stream.path],
  );
  useReturn(answer.error, answer.again);
  const columns = controls.isLarge ? mostColumns.large : mostColumns.small;
  const stride = Math.min(16, Math.max(1, Math.ceil((stream.shape[1] ?? 1) / columns)));
  const last = useRef<DepthFrame | null>(null);
  const range = useRef<DepthRange>({ near: null, far: null });
  const pointer = useRef<[number, number] | null>(null);
  const [shown, setShown] = useState({
    near: 0,
    far: 1,
    metresPerUnit: null as number | null,
    under: "",
  });
  const open = useCallback(
    (listener: FrameListener<DepthFrame>) =>
      new FetchedFrames<DepthFrame>(
        {
          get: (frame, signal) => getDepth(episode.id, stream.path, frame, stride, signal),
          keep: 24,
        },
        listener,
      ),
    [episode.id, stream.path, stride],
  );
  const tell = useCallback((frame: DepthFrame, [near, far]: [number, number]) => {
    const under = pointer.current ? distanceAt(frame, pointer.current) : "";
    setShown((before) =>
      before.near === near &&
      before.far === far &&
      before.under === under &&
      before.metresPerUnit === frame.metresPerUnit
        ? before
        : { near, far, metresPerUnit: frame.metresPerUnit, under },
    );
  }, []);
  const draw = useCallback(
    (canvas: HTMLCanvasElement, frame: DepthFrame) => {
      last.current = frame;
      const ends = endsOf(frame, range.current);
      drawDepth(canvas, frame, ends);
      tell(frame, ends);
    },
    [tell],
  );
  const frames = useFrames<DepthFrame>({
    clock,
    stamps: answer.value,
    rateHz: stream.rate_hz,
    isActive,
    open,
    draw,
  });
  const redraw = () => {
    const frame = last.current;
    if (frame && frames.canvas.current && frames.canvas.current.dataset.frame !== "-1") {
      draw(frames.canvas.current, frame);
    }
  };
  useEffect(
    () => () => {
      last.current = null;
    },
    [],
  );
  const told = answer.error ? { ...frames, error: answer.error, again: answer.again } : frames;
  return (
    <ViewTile
      stream={stream}
      frames={told}
      isWaiting={answer.waiting}
      onPoint={(x, y) => {
        pointer.current = [x, y];
        if (last.current) tell(last.current, endsOf(last.current, range.current));
      }}
      onLeave={() => {
        pointer.current = null;
        setShown((before) => ({ ...before, under: "" }));
      }}
      {...controls}
    >
      <DepthLegend
        name={stream.name}
        {...shown}
        onRange={(wanted) => {
          range.current = wanted;
          redraw();
        }}
      />
    </ViewTile>
  );
}

function endsOf(frame: DepthFrame, { near, far }: DepthRange): [number, number] {
  const unit = frame.metresPerUnit ?? 1;
  const low = near === null ? frame.near : near / unit;
  return [low, Math.max(far === null ? frame.far : far / unit, low + 1)];
}

function drawDepth(
  canvas: HTMLCanvasElement,
  frame: DepthFrame,
  [near, far]: [number, number],
): void {
  if (canvas.width !== frame.width || canvas.height !== frame.height) {
    canvas.width = frame.width;
    canvas.height = frame.height;
  }
  // Written by the processor alone, so that is where the picture stays.
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (!context) return;
  const image = imageOf(canvas, frame);
  colourDepth(frame.counts, new Uint32Array(image.data.buffer), near, far);
  context.putImageData(image, 0, 0);
}

const images = new WeakMap<HTMLCanvasElement, ImageData>();

/** The same memory for every picture of a canvas. */
function imageOf(canvas: HTMLCanvasElement, { width, height }: DepthFrame): ImageData {
  const known = images.get(canvas);
  if (known?.width === width && known.height === height) return known;
  const made = new ImageData(width, height);
  images.set(canvas, made);
  return made;
}

/** The distance under the pointer, in words; nothing outside of the picture. */
function distanceAt(frame: DepthFrame, [x, y]: [number, number]): string {
  if (x < 0 || y < 0 || x >= 1 || y >= 1) return "";
  const count =
    frame.counts[Math.floor(y * frame.height) * frame.width + Math.floor(x * frame.width)] ?? 0;
  if (!count) return "nothing measured";
  return frame.metresPerUnit ? `${(count * frame.metresPerUnit).toFixed(3)} m` : String(count);
}
