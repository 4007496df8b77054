import { useEffect, useState, useSyncExternalStore } from "react";
import type { Clock, Loop } from "./clock";

/** Renders again when playing begins or ends, or the rate changes; not with time. */
export function useClockState(clock: Clock): {
  isPlaying: boolean;
  rate: number;
  steps: number;
  loop: Loop | null;
} {
  const playing = useSyncExternalStore(clock.subscribeState, () => clock.isPlaying);
  const rate = useSyncExternalStore(clock.subscribeState, () => clock.rate);
  const steps = useSyncExternalStore(clock.subscribeState, () => clock.stepTimes);
  const loop = useSyncExternalStore(clock.subscribeState, () => clock.loop);
  return { isPlaying: playing, rate, steps: steps.length, loop };
}

/** The time, some times a second: for text. What is drawn subscribes to the clock itself. */
export function useClockTime(clock: Clock, everyMs = 100): number {
  const [time, setTime] = useState(clock.timeNs);
  useEffect(() => {
    let last = 0;
    let later = 0;
    const stop = clock.subscribe((now) => {
      clearTimeout(later);
      const wait = everyMs - (performance.now() - last);
      const show = () => {
        last = performance.now();
        setTime(now);
      };
      if (wait <= 0 || !clock.isPlaying) show();
      else later = window.setTimeout(show, wait);
    });
    return () => {
      clearTimeout(later);
      stop();
    };
  }, [clock, everyMs]);
  return time;
}
