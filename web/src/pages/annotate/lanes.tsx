import { useMemo, useRef, useState } from "react";
import type { LabelLane } from "../../api/schema";
import type { Clock } from "../../player/clock";
import { useInks } from "../../plots/inks";
import { PlotCursors } from "../../plots/plot_cursors";
import { TimeAxis } from "../../plots/time_axis";
import { useWindow } from "../../plots/use_window";
import { type ViewWindow, windowOf } from "../../plots/window";
import { EventRow } from "./event_row";
import { countRows, LaneRow, ROW_PX } from "./lane_row";
import "./lanes.css";
import { useWheelZoom } from "../../plots/use_wheel_zoom";
import { inLane, rowsOf } from "./segments";
import type { Bench } from "./use_bench";
import { useLaneDrag } from "./use_lane_drag";

/** Everything that is said, lane by lane, on the same axis of time as the plots. */
export function Lanes({ bench }: { bench: Bench }) {
  const view = windowOf(bench.clock);
  useWindow(view);
  const inks = useInks();
  const area = useRef<HTMLDivElement>(null);
  const [snap, setSnap] = useState<number | null>(null);
  const drag = useLaneDrag(bench, view, area, setSnap);
  useWheelZoom(area, view);
  const content = drag.shown;
  const { segment, selected, taxonomy } = bench;
  const place = (timeNs: number) => ((timeNs - view.startNs) / view.spanNs) * 100;
  const held = content.segments.find((each) => each.id === segment?.id);
  const boundary =
    held && selected ? (selected.edge === "start" ? held.start_ns : held.end_ns) : null;
  const rows = useMemo(
    () =>
      taxonomy.lanes.map((lane) => {
        const segments = inLane(content, lane.name);
        return [lane, segments, rowsOf(lane, segments)] as const;
      }),
    [taxonomy, content],
  );
  return (
    <div className="lanes" role="group" aria-label="Lanes">
      <div className="lanes-area" ref={area} {...drag.listeners}>
        <TimeAxis view={view} inks={inks} />
        <div className="lanes-track">
          <EventRow bench={bench} place={place} snapNs={snap} />
          {rows.map(([lane, segments, labels]) => (
            <LaneRow
              key={lane.name}
              bench={bench}
              lane={lane}
              segments={segments}
              rows={labels}
              place={place}
            />
          ))}
          {boundary !== null && boundary >= view.startNs && boundary <= view.endNs && (
            <div className="lanes-boundary" style={{ left: `${place(boundary)}%` }}>
              <span className="lanes-boundary-frame num">frame {bench.line.frameOf(boundary)}</span>
            </div>
          )}
        </div>
        <PlotCursors clock={bench.clock} view={view} />
      </div>
      <div className="lanes-names">
        <Zoom clock={bench.clock} view={view} />
        <span className="lanes-events-name muted">Detected events</span>
        {rows.map(([lane, segments, labels]) => (
          <LaneName
            key={lane.name}
            rows={countRows(labels)}
            bench={bench}
            lane={lane}
            count={segments.length}
            open={segments.filter((each) => !each.confirmed).length}
          />
        ))}
      </div>
    </div>
  );
}

/** The keys for this are those of the plots, which have the same window. */
function Zoom({ clock, view }: { clock: Clock; view: ViewWindow }) {
  const zoom = (factor: number) =>
    view.zoom(Math.min(Math.max(clock.timeNs, view.startNs), view.endNs), factor);
  return (
    <span className="lanes-zoom" role="group" aria-label="Zoom of lanes and plots">
      <button
        type="button"
        className="quiet"
        aria-label="Zoom out"
        title="Zoom out (Shift+Z)"
        disabled={view.isWhole}
        onClick={() => zoom(2)}
      >
        −
      </button>
      <button
        type="button"
        className="quiet"
        aria-label="Zoom in"
        title="Zoom in (Z), or turn the wheel"
        onClick={() => zoom(0.5)}
      >
        +
      </button>
      <button
        type="button"
        className="quiet"
        title="Show the whole episode (0)"
        disabled={view.isWhole}
        onClick={() => view.reset()}
      >
        Fit
      </button>
    </span>
  );
}

function LaneName({
  bench,
  lane,
  rows,
  count,
  open,
}: {
  bench: Bench;
  lane: LabelLane;
  rows: number;
  count: number;
  open: number;
}) {
  const isActive = bench.lane.name === lane.name;
  const choose = () => {
    bench.select(null);
    bench.setLane(lane.name);
  };
  return (
    <button
      type="button"
      className="quiet lanes-name"
      data-tiles={lane.tiles}
      style={rows > 1 ? { height: rows * ROW_PX } : undefined}
      aria-pressed={isActive}
      title={`Work in ${lane.title}: its labels have the keys`}
      onClick={choose}
    >
      <span>{lane.title}</span>
      <span className="muted num">{open ? `${open} to confirm` : count || ""}</span>
    </button>
  );
}
