import { type KeyboardEvent, useEffect, useRef } from "react";
import type { EpisodeFinding } from "../api/schema";
import { checkTitle } from "../parts/words";
import type { ViewWindow } from "../plots/window";
import { type Clock, clockText } from "./clock";

const SAY_EVERY_MS = 500;

/** Where the clock stands: moved without drawing anything else, and operated by keys. */
export function TimelinePlayhead({
  clock,
  view,
  findings,
}: {
  clock: Clock;
  view: ViewWindow;
  findings: EpisodeFinding[];
}) {
  const lane = useRef<HTMLDivElement>(null);
  const head = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let width = lane.current?.clientWidth ?? 0;
    let said = 0;
    let later = 0;
    const say = (timeNs: number) => {
      said = performance.now();
      head.current?.setAttribute("aria-valuenow", String(Math.round(timeNs / 1e6)));
      head.current?.setAttribute("aria-valuetext", spoken(timeNs, findings));
    };
    const put = (timeNs: number) => {
      if (head.current) {
        const share = (timeNs - view.startNs) / view.spanNs;
        head.current.style.visibility = share < 0 || share > 1 ? "hidden" : "visible";
        head.current.style.transform = `translateX(${share * width}px)`;
      }
      clearTimeout(later);
      if (!clock.isPlaying || performance.now() - said > SAY_EVERY_MS) say(timeNs);
      else later = window.setTimeout(() => say(timeNs), SAY_EVERY_MS);
    };
    const size = new ResizeObserver(([entry]) => {
      width = entry?.contentRect.width ?? width;
      put(clock.timeNs);
    });
    if (lane.current) size.observe(lane.current);
    const stops = [clock.subscribe(put), view.subscribe(() => put(clock.timeNs))];
    return () => {
      for (const stop of stops) stop();
      clearTimeout(later);
      size.disconnect();
    };
  }, [clock, view, findings]);
  const press = (event: KeyboardEvent) => {
    const jump = view.spanNs / 10;
    const moves = new Map([
      ["ArrowLeft", () => clock.step(event.shiftKey ? -10 : -1)],
      ["ArrowDown", () => clock.step(event.shiftKey ? -10 : -1)],
      ["ArrowRight", () => clock.step(event.shiftKey ? 10 : 1)],
      ["ArrowUp", () => clock.step(event.shiftKey ? 10 : 1)],
      ["PageDown", () => clock.seek(clock.timeNs - jump)],
      ["PageUp", () => clock.seek(clock.timeNs + jump)],
      ["Home", () => clock.seek(clock.startNs)],
      ["End", () => clock.seek(clock.endNs)],
    ]);
    const move = moves.get(event.key);
    if (!move) return;
    event.preventDefault();
    move();
  };
  return (
    <div className="timeline-heads" ref={lane}>
      <div
        ref={head}
        className="timeline-playhead"
        role="slider"
        tabIndex={0}
        aria-label="Time"
        aria-valuemin={Math.round(clock.startNs / 1e6)}
        aria-valuemax={Math.round(clock.endNs / 1e6)}
        aria-valuenow={Math.round(clock.timeNs / 1e6)}
        aria-valuetext={spoken(clock.timeNs, findings)}
        onKeyDown={press}
      />
    </div>
  );
}

/** The time, and what is found there. */
function spoken(timeNs: number, findings: EpisodeFinding[]): string {
  const here = findings.find((each) =>
    each.spans.some((span) => span.start_ns <= timeNs && timeNs <= span.end_ns),
  );
  return here ? `${clockText(timeNs)}, ${checkTitle(here.check)}` : clockText(timeNs);
}
