// What pointer and wheel do on a plot: click seeks, drag chooses a span, and the wheel zooms.
import type { Clock } from "../player/clock";
import { timeAt, type ViewWindow } from "./window";

const STILL_PX = 4;
const GRAB_PX = 7;

export type Drag = "seek" | "scrub" | "zoom" | "pan";

/** What a press begins: on the line of the clock it takes hold of it. */
export function dragOf(x: number, playhead: number, isTouch: boolean, hasShift: boolean): Drag {
  if (isTouch || Math.abs(x - playhead) <= GRAB_PX) return "scrub";
  return hasShift ? "pan" : "seek";
}

export interface GestureParts {
  area: HTMLElement;
  clock: Clock;
  view: ViewWindow;
  gutter: number;
  onChosen: (from: number | null, to: number | null) => void;
}

/** Listens on `area` until the function that it returns is called. */
export function listenToGestures({
  area,
  clock,
  view,
  gutter,
  onChosen,
}: GestureParts): () => void {
  const stop = new AbortController();
  const fingers = new Map<number, number>();
  let press: { x: number; kind: Drag; startNs: number } | null = null;
  let apart = 0;
  const width = () => area.clientWidth - gutter;
  const place = (event: MouseEvent) => event.clientX - area.getBoundingClientRect().left - gutter;
  const time = (x: number) => timeAt(x, view.startNs, view.endNs, width());
  const spread = () => {
    const [a = 0, b = 0] = [...fingers.values()];
    return { middle: (a + b) / 2, apart: Math.max(Math.abs(a - b), 8) };
  };

  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const x = place(event);
    if (x < 0) return;
    area.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, x);
    if (fingers.size === 2) {
      press = null;
      apart = spread().apart;
      return;
    }
    const now = ((clock.timeNs - view.startNs) / view.spanNs) * width();
    press = {
      x,
      kind: dragOf(x, now, event.pointerType === "touch", event.shiftKey),
      startNs: view.startNs,
    };
  };
  const move = (event: PointerEvent) => {
    const x = place(event);
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, x);
    if (fingers.size === 2) {
      const now = spread();
      view.zoom(time(now.middle), apart / now.apart);
      apart = now.apart;
      return;
    }
    view.hover(x >= 0 && x <= width() ? time(x) : null);
    if (!press) return;
    if (press.kind === "seek" && Math.abs(x - press.x) > STILL_PX) press.kind = "zoom";
    if (press.kind === "scrub") clock.seek(time(x));
    else if (press.kind === "zoom") onChosen(Math.min(press.x, x), Math.max(press.x, x));
    else if (press.kind === "pan") {
      const from = press.startNs - ((x - press.x) / width()) * view.spanNs;
      view.set(from, from + view.spanNs);
    }
  };
  const up = (event: PointerEvent) => {
    fingers.delete(event.pointerId);
    const held = press;
    press = null;
    onChosen(null, null);
    if (!held || event.type === "pointercancel") return;
    const x = place(event);
    if (held.kind === "zoom") view.set(time(Math.min(held.x, x)), time(Math.max(held.x, x)));
    else if (held.kind !== "pan") clock.seek(time(x));
  };
  const wheel = (event: WheelEvent) => {
    const x = place(event);
    if (x < 0) return;
    event.preventDefault();
    const across = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      view.pan((across / width()) * view.spanNs);
    else view.zoom(time(x), Math.exp(Math.min(Math.max(event.deltaY, -200), 200) * 0.0022));
  };
  const { signal } = stop;
  area.addEventListener("pointerdown", down, { signal });
  area.addEventListener("pointermove", move, { signal });
  area.addEventListener("pointerup", up, { signal });
  area.addEventListener("pointercancel", up, { signal });
  area.addEventListener("pointerleave", () => view.hover(null), { signal });
  area.addEventListener("dblclick", () => view.reset(), { signal });
  area.addEventListener("wheel", wheel, { signal, passive: false });
  return () => stop.abort();
}
