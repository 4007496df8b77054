import { useEffect, useReducer } from "react";
import type { ViewWindow } from "./window";

/** Renders again when the window changes, at most once per picture of the screen. */
export function useWindow(view: ViewWindow): void {
  const [, again] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    let frame = 0;
    const stop = view.subscribe(() => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => again());
    });
    return () => {
      cancelAnimationFrame(frame);
      stop();
    };
  }, [view]);
}
