import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { captionOf } from "./caption";
import { type Clock, frameAt } from "./clock";
import { framesAhead } from "./decoder_plan";
import type { FrameListener, FrameSource } from "./frame_source";

export interface FramesOptions<T> {
  clock: Clock;
  /** null until they are known. */
  stamps: ArrayLike<number> | null;
  rateHz: number | null;
  /** A view that is not seen asks for nothing. */
  isActive: boolean;
  /** Called when the stamps are known; the same function while the stream is the same. */
  open: (listener: FrameListener<T>) => FrameSource;
  draw: (canvas: HTMLCanvasElement, picture: T) => void;
  /** Called with the frame that is on the canvas now; -1 for none. */
  shown?: RefObject<((frame: number) => void) | null>;
}

export interface Frames {
  canvas: RefObject<HTMLCanvasElement | null>;
  caption: RefObject<HTMLElement | null>;
  error: Error | null;
  again: () => void;
}

/** Keep a canvas at the frame of the clock's time, and its caption true. */
export function useFrames<T>({
  clock,
  stamps,
  rateHz,
  isActive,
  open,
  draw,
  shown: watcher,
}: FramesOptions<T>): Frames {
  const canvas = useRef<HTMLCanvasElement>(null);
  const caption = useRef<HTMLElement>(null);
  const [error, setError] = useState<Error | null>(null);
  const [turn, setTurn] = useState(0);
  const again = useCallback(() => {
    setError(null);
    setTurn((n) => n + 1);
  }, []);
  useReturn(error, again);
  // biome-ignore lint/correctness/useExhaustiveDependencies: every try opens the source again
  useEffect(() => {
    if (!stamps || !isActive) return;
    let shown = -1;
    let hasFailed = false;
    const tell = () => {
      const text = captionOf(stamps, { shown, timeNs: clock.timeNs, rateHz });
      if (caption.current && caption.current.textContent !== text)
        caption.current.textContent = text;
    };
    const source = open({
      draw: (frame, picture) => {
        if (!canvas.current) return;
        draw(canvas.current, picture);
        shown = frame;
        mark(canvas.current, frame, stamps[frame] as number);
        watcher?.current?.(frame);
        tell();
      },
      fail: (reason) => {
        hasFailed = true;
        setError(reason);
      },
    });
    const follow = () => {
      // A server that is away is not asked sixty times a second.
      if (hasFailed) return;
      if (frameAt(stamps, clock.timeNs) < 0 && canvas.current) {
        if (shown >= 0) watcher?.current?.(-1);
        shown = -1;
        blank(canvas.current);
      }
      source.want(framesAhead(stamps, clock.timeNs, clock), clock.isPlaying);
      tell();
    };
    const behind = (timeNs: number) => {
      const now = frameAt(stamps, timeNs);
      if (hasFailed || now < 0) return 0;
      if (shown < 0) return Number.POSITIVE_INFINITY;
      return Math.abs((stamps[now] as number) - (stamps[shown] as number));
    };
    const stops = [
      clock.addPicture(behind),
      clock.subscribe(follow),
      clock.subscribeState(follow),
      () => source.close(),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }, [clock, stamps, rateHz, isActive, open, draw, watcher, turn]);
  return { canvas, caption, error, again };
}

/** Try again by itself when the server is back. */
export function useReturn(error: Error | null, again: () => void): void {
  useEffect(() => {
    if (!error) return;
    const listen = (event: Event) => {
      if ((event as CustomEvent<boolean>).detail) again();
    };
    window.addEventListener("studio:reachable", listen);
    return () => window.removeEventListener("studio:reachable", listen);
  }, [error, again]);
}

function mark(canvas: HTMLCanvasElement, frame: number, timeNs: number): void {
  canvas.dataset.frame = String(frame);
  canvas.dataset.timeNs = String(timeNs);
}

function blank(canvas: HTMLCanvasElement): void {
  if (canvas.dataset.frame === "-1") return;
  canvas.getContext("2d")?.clearRect(0, 0, canvas.width, canvas.height);
  canvas.dataset.frame = "-1";
  delete canvas.dataset.timeNs;
}
