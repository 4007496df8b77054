import { type RefObject, useEffect, useState } from "react";

const patienceMs = 1500;

/** Whether a camera below this element has shown a picture, or none came for a while: time for the rest. */
export function useFirstPicture(parent: RefObject<HTMLElement | null>): boolean {
  const [isHere, setHere] = useState(false);
  useEffect(() => {
    const { current } = parent;
    if (isHere || !current) return;
    const look = () => {
      const views = Array.from(current.querySelectorAll<HTMLElement>("canvas[data-frame]"));
      if (!views.length || views.some(({ dataset }) => Number(dataset.frame) >= 0)) setHere(true);
    };
    const watcher = new MutationObserver(look);
    const timer = setTimeout(() => setHere(true), patienceMs);
    watcher.observe(current, { subtree: true, attributeFilter: ["data-frame"] });
    look();
    return () => {
      watcher.disconnect();
      clearTimeout(timer);
    };
  }, [parent, isHere]);
  return isHere;
}
