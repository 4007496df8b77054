// What shows a stream's frames, whether they are decoded here or fetched one by one.

export interface FrameSource {
  /** First the frame to show now, then those to have ready soon. */
  want(frames: number[], isPlaying: boolean): void;
  close(): void;
}

export interface FrameListener<T> {
  /** The picture is only lent: it is gone after the call. */
  draw: (frame: number, picture: T) => void;
  fail: (error: Error) => void;
}

/** Whether a frame that comes late is still worth showing while playing: newer than what is seen. */
export function isStillGood(
  frame: number,
  { shown, now }: { shown: number; now: number },
): boolean {
  return frame > shown && frame <= now;
}

export function isAbort(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === "AbortError";
}

export function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
