import { type PointerEvent as Press, useEffect, useMemo, useRef } from "react";
import { mapTime } from "../../api/comparison";
import type { Trace } from "../../api/signal";
import type { Clock } from "../../player/clock";
import { useClockTime } from "../../player/use_clock";
import { valueText } from "../../plots/scale";
import { pathOf, scaleOf, valueAt } from "./overlay_curves";
import "./overlay_plot.css";
import { inkOf, type Side } from "./sides";

export interface OverlayPlotProps {
  traces: Trace[];
  column: number;
  names: string[];
  unit: string;
  clock: Clock;
  sides: Side[];
  onColumn: (column: number) => void;
}

/** One column of all; a press goes to that moment. */
export function OverlayPlot({
  traces,
  column,
  names,
  unit,
  clock,
  sides,
  onColumn,
}: OverlayPlotProps) {
  const playhead = useRef<HTMLDivElement>(null);
  const { startNs, endNs } = clock;
  useEffect(
    () =>
      clock.subscribe((timeNs) => {
        if (playhead.current)
          playhead.current.style.left = `${((timeNs - startNs) / Math.max(1, endNs - startNs)) * 100}%`;
      }),
    [clock, startNs, endNs],
  );
  const drawn = useMemo(() => {
    const scale = scaleOf(traces, column, startNs, endNs);
    if (!scale) return null;
    const paths = sides.map(({ letter, moments }, place) => ({
      letter,
      d: pathOf(traces[place] as Trace, column, scale, (timeNs) =>
        mapTime(moments.time_b, moments.time_a, timeNs),
      ),
    }));
    return { scale, paths };
  }, [traces, column, sides, startNs, endNs]);
  const seek = (event: Press<HTMLDivElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    clock.pause();
    clock.seek(Math.round(startNs + ((event.clientX - box.left) / box.width) * (endNs - startNs)));
  };
  return (
    <div className="overlay-plot">
      <div className="overlay-plot-head">
        <select
          aria-label="Column"
          value={column}
          onChange={(event) => onColumn(Number(event.target.value))}
        >
          {names.map((name, place) => (
            <option key={name} value={place}>
              {name.replaceAll("_", " ")}
            </option>
          ))}
        </select>
        <span className="muted">{unit}</span>
        <Readings traces={traces} column={column} clock={clock} sides={sides} />
      </div>
      <div className="overlay-plot-area" onPointerDown={seek}>
        {drawn ? (
          <svg
            viewBox="0 0 1000 100"
            preserveAspectRatio="none"
            role="img"
            aria-label={`${names[column] ?? ""} of ${sides.length === 2 ? "both" : "all"}`}
          >
            {drawn.paths.map(({ letter, d }) => (
              <path key={letter} style={{ stroke: inkOf(letter) }} d={d} />
            ))}
          </svg>
        ) : (
          <p className="muted">Nothing was recorded here.</p>
        )}
        <div ref={playhead} className="overlay-plot-now" />
        {drawn && <span className="overlay-plot-high num">{valueText(drawn.scale.high)}</span>}
        {drawn && <span className="overlay-plot-low num">{valueText(drawn.scale.low)}</span>}
      </div>
    </div>
  );
}

/** The values of the moment, and of two how far they are apart. */
function Readings({
  traces,
  column,
  clock,
  sides,
}: Pick<OverlayPlotProps, "traces" | "column" | "clock" | "sides">) {
  const timeNs = useClockTime(clock);
  const values = sides.map(({ moments }, place) =>
    valueAt(traces[place] as Trace, column, mapTime(moments.time_a, moments.time_b, timeNs)),
  );
  const [a = null, b = null] = values;
  return (
    <span className="overlay-plot-now-values num">
      {sides
        .map(({ letter }, place) => `${letter} ${valueText(values[place] ?? null)}`)
        .join(" · ")}
      {sides.length === 2 && ` · Δ ${a === null || b === null ? "–" : valueText(a - b)}`}
    </span>
  );
}
