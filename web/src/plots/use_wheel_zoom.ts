import { type RefObject, useLayoutEffect } from "react";
import { GUTTER } from "./draw";
import { timeAt, type ViewWindow } from "./window";

/** The wheel zooms where the pointer is, and moves the window with Shift; as on the plots. */
export function useWheelZoom(
  area: RefObject<HTMLElement | null>,
  view: ViewWindow,
  gutter = GUTTER,
): void {
  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return;
    const turn = (event: WheelEvent) => {
      const { left, width } = element.getBoundingClientRect();
      const inner = width - gutter;
      event.preventDefault();
      const across = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
        view.pan((across / inner) * view.spanNs);
      else
        view.zoom(
          timeAt(event.clientX - left - gutter, view.startNs, view.endNs, inner),
          Math.exp(Math.min(Math.max(event.deltaY, -200), 200) * 0.0022),
        );
    };
    element.addEventListener("wheel", turn, { passive: false });
    return () => element.removeEventListener("wheel", turn);
  }, [area, view, gutter]);
}
