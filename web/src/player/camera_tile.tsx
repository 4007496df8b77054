import { useCallback, useRef } from "react";
import { getPackets } from "../api/movie";
import type { EpisodeDetail, EpisodeStream } from "../api/schema";
import { useAnswer } from "../api/use_answer";
import type { Clock } from "./clock";
import { CameraSource, type Picture } from "./decoder_source";
import type { FrameListener } from "./frame_source";
import { HandOverlay } from "./hand_overlay";
import { useFrames, useReturn } from "./use_frames";
import { type TileControls, ViewTile } from "./view_tile";

export interface CameraTileProps extends TileControls {
  episode: EpisodeDetail;
  stream: EpisodeStream;
  clock: Clock;
  isActive: boolean;
}

/** A camera at exactly the frame of the clock's time. */
export function CameraTile({ episode, stream, clock, isActive, ...controls }: CameraTileProps) {
  const answer = useAnswer(
    (signal) => getPackets(episode.id, stream.path, signal),
    [episode.id, stream.path],
  );
  useReturn(answer.error, answer.again);
  const packets = answer.value;
  const open = useCallback(
    (listener: FrameListener<Picture>) => {
      if (!packets) throw new Error("opened before the packets were known");
      return new CameraSource(episode.id, stream.path, packets, listener);
    },
    [episode.id, stream.path, packets],
  );
  const seen = useRef<((frame: number) => void) | null>(null);
  const hasHands = episode.streams.some(({ name }) => /^(left|right)_hand_joints$/.test(name));
  const frames = useFrames<Picture>({
    clock,
    stamps: packets?.timeNs ?? null,
    rateHz: stream.rate_hz,
    isActive,
    open,
    draw: drawPicture,
    shown: seen,
  });
  const shown = answer.error ? { ...frames, error: answer.error, again: answer.again } : frames;
  return (
    <ViewTile stream={stream} frames={shown} isWaiting={answer.waiting} {...controls}>
      {hasHands && <HandOverlay episode={episode} stream={stream.path} shown={seen} />}
    </ViewTile>
  );
}

function drawPicture(canvas: HTMLCanvasElement, picture: Picture): void {
  const width = "displayWidth" in picture ? picture.displayWidth : picture.width;
  const height = "displayHeight" in picture ? picture.displayHeight : picture.height;
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  canvas.getContext("2d", { alpha: false })?.drawImage(picture, 0, 0, width, height);
}
