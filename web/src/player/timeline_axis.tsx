import { useEffect, useRef } from "react";
import { drawAxis } from "../plots/axis";
import type { Inks } from "../plots/draw";
import { forget, redraw } from "../plots/redraw";
import { useWindow } from "../plots/use_window";
import type { ViewWindow } from "../plots/window";
import { shareOf } from "./timeline_rows";

/** Times of the window, and above them which part of the episode it is. */
export function TimelineAxis({ view, inks }: { view: ViewWindow; inks: Inks }) {
  useWindow(view);
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const draw = () => drawAxis(element, view.startNs, view.endNs, inks, 0);
    const size = new ResizeObserver(() => redraw(draw));
    size.observe(element);
    const stop = view.subscribe(() => redraw(draw));
    redraw(draw);
    return () => {
      stop();
      forget(draw);
      size.disconnect();
    };
  }, [view, inks]);
  const share = (timeNs: number) => `${shareOf(timeNs, view.wholeStartNs, view.wholeEndNs) * 100}%`;
  return (
    <div className="timeline-axis">
      <canvas ref={canvas} aria-hidden />
      {!view.isWhole && (
        <div className="timeline-whole-bar" title="The part of the episode that is shown">
          <div
            className="timeline-window"
            style={{ left: share(view.startNs), right: `calc(100% - ${share(view.endNs)})` }}
          />
        </div>
      )}
    </div>
  );
}
