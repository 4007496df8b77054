import { useEffect, useRef } from "react";
import type { Clock } from "../player/clock";
import { GUTTER } from "./draw";
import { placeOf, type ViewWindow } from "./window";

/** The lines of clock and pointer, moved over the picture so that it need not be drawn again. */
export function PlotCursors({ clock, view }: { clock: Clock; view: ViewWindow }) {
  const now = useRef<HTMLDivElement>(null);
  const pointed = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let width = (now.current?.parentElement?.clientWidth ?? 0) - GUTTER;
    const put = (element: HTMLElement | null, timeNs: number | null) => {
      if (!element) return;
      const isInside = timeNs !== null && timeNs >= view.startNs && timeNs <= view.endNs;
      element.style.visibility = isInside ? "visible" : "hidden";
      if (isInside)
        element.style.transform = `translateX(${GUTTER + placeOf(timeNs, view.startNs, view.endNs, width)}px)`;
    };
    const both = () => {
      put(now.current, clock.timeNs);
      put(pointed.current, view.hoverNs);
    };
    const size = new ResizeObserver(([entry]) => {
      width = (entry?.contentRect.width ?? 0) - GUTTER;
      both();
    });
    if (now.current?.parentElement) size.observe(now.current.parentElement);
    const stops = [
      clock.subscribe((time) => put(now.current, time)),
      view.subscribe(both),
      view.subscribeHover(() => put(pointed.current, view.hoverNs)),
    ];
    return () => {
      for (const stop of stops) stop();
      size.disconnect();
    };
  }, [clock, view]);
  return (
    <>
      <div className="plot-pointed" ref={pointed} />
      <div className="plot-now" ref={now} />
    </>
  );
}
