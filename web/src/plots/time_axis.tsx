import { useEffect, useRef } from "react";
import { drawAxis } from "./axis";
import { GUTTER, type Inks } from "./draw";
import { forget, redraw } from "./redraw";
import type { ViewWindow } from "./window";

/** The times of the window, above all plots. */
export function TimeAxis({ view, inks }: { view: ViewWindow; inks: Inks }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const draw = () => drawAxis(element, view.startNs, view.endNs, inks, GUTTER);
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
  return <canvas className="signals-axis" ref={canvas} aria-hidden />;
}
