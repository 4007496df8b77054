import { useWindow } from "../../plots/use_window";
import { windowOf } from "../../plots/window";
import { eventsOfRule } from "./event_row";
import type { Bench } from "./use_bench";

/** Lines through all plots: the events that signals show, and the boundary at hand. */
export function SignalsMarks({ bench }: { bench: Bench }) {
  const { clock, events, segment, selected } = bench;
  const view = windowOf(clock);
  useWindow(view);
  const wanted = eventsOfRule(bench);
  const place = (timeNs: number) => ((timeNs - view.startNs) / view.spanNs) * 100;
  const boundary =
    segment && selected ? (selected.edge === "start" ? segment.start_ns : segment.end_ns) : null;
  const isInside = (timeNs: number) => timeNs >= view.startNs && timeNs <= view.endNs;
  return (
    <div className="signals-marks" aria-hidden>
      {events.map((event, number) =>
        isInside(event.time_ns) ? (
          <span
            key={number}
            className="signals-event"
            data-wanted={wanted.includes(event.name)}
            style={{ left: `${place(event.time_ns)}%` }}
          />
        ) : null,
      )}
      {boundary !== null && isInside(boundary) && (
        <span className="signals-boundary" style={{ left: `${place(boundary)}%` }} />
      )}
    </div>
  );
}
