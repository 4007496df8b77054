import { type RefObject, useEffect, useState } from "react";
import type { Clock } from "../../player/clock";

const PATIENCE_MS = 4000;

/** Play at this rate as soon as a camera shows its first picture, or when none comes; whether it has begun. */
export function useAutoplay(
  stage: RefObject<HTMLElement | null>,
  clock: Clock,
  rate: number,
): boolean {
  const [hasBegun, setBegun] = useState(false);
  useEffect(() => {
    clock.setRate(rate);
    let isDone = false;
    const begin = () => {
      if (isDone) return;
      isDone = true;
      watcher.disconnect();
      clearTimeout(timer);
      clock.play();
      setBegun(true);
    };
    const look = () => {
      const tiles = Array.from(stage.current?.querySelectorAll<HTMLElement>("[data-frame]") ?? []);
      if (tiles.some(({ dataset }) => Number(dataset.frame) >= 0)) begin();
    };
    const watcher = new MutationObserver(look);
    const timer = setTimeout(begin, PATIENCE_MS);
    if (stage.current)
      watcher.observe(stage.current, {
        subtree: true,
        childList: true,
        attributeFilter: ["data-frame"],
      });
    look();
    return () => {
      isDone = true;
      watcher.disconnect();
      clearTimeout(timer);
    };
  }, [stage, clock, rate]);
  return hasBegun;
}
