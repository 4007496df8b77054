// A look at a boundary: half a second around it, then the frame that it lies on.
import type { Clock } from "../../player/clock";

const halfNs = 2.5e8;
const running = new WeakMap<Clock, () => void>();

export function playAround(clock: Clock, timeNs: number): void {
  stopLooking(clock);
  clock.pause();
  clock.seek(timeNs - halfNs);
  const until = Math.min(timeNs + halfNs, clock.endNs);
  const stop = clock.subscribe((now) => {
    if (now < until) return;
    stopLooking(clock);
    clock.pause();
    clock.seek(timeNs);
  });
  const stopState = clock.subscribeState(() => {
    // Whoever pauses or seeks meanwhile has seen enough.
    if (!clock.isPlaying) stopLooking(clock);
  });
  clock.play();
  running.set(clock, () => {
    stop();
    stopState();
  });
}

/** Leave the clock to whoever moves it next. */
export function stopLooking(clock: Clock): void {
  running.get(clock)?.();
  running.delete(clock);
}

/** Show a moment and stay there. */
export function showMoment(clock: Clock, timeNs: number): void {
  stopLooking(clock);
  clock.pause();
  clock.seek(timeNs);
}
