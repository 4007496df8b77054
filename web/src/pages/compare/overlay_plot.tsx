import { type PointerEvent as Press, useEffect, useMemo, useRef } from "react";
import { mapTime } from "../../api/comparison";
import type { Trace } from "../../api/signal";
import type { Clock } from "../../player/clock";
import { useClockTime } from "../../player/use_clock";
import { valueText } from "../../plots/scale";
import type { Moments } from "./following_clock";
import { pathOf, scaleOf, valueAt } from "./overlay_curves";
import "./overlay_plot.css";

export interface OverlayPlotProps {
  traces: Trace[];
  column: number;
  names: string[];
  unit: string;
  clock: Clock;
  moments: Moments;
  onColumn: (column: number) => void;
}

/** One column of both; a press goes to that moment. */
export function OverlayPlot({
  traces,
  column,
  names,
  unit,
  clock,
  moments,
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
    const [a, b] = traces as [Trace, Trace];
    const scale = scaleOf(traces, column, startNs, endNs);
    if (!scale) return null;
    const onA = (timeNs: number) => mapTime(moments.time_b, moments.time_a, timeNs);
    return {
      scale,
      a: pathOf(a, column, scale, (timeNs) => timeNs),
      b: pathOf(b, column, scale, onA),
    };
  }, [traces, column, moments, startNs, endNs]);
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
        <Readings traces={traces} column={column} clock={clock} moments={moments} />
      </div>
      <div className="overlay-plot-area" onPointerDown={seek}>
        {drawn ? (
          <svg
            viewBox="0 0 1000 100"
            preserveAspectRatio="none"
            role="img"
            aria-label={`${names[column] ?? ""} of both`}
          >
            <path className="overlay-plot-a" d={drawn.a} />
            <path className="overlay-plot-b" d={drawn.b} />
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

/** Both values of the moment, and how far they are apart. */
function Readings({
  traces,
  column,
  clock,
  moments,
}: Pick<OverlayPlotProps, "traces" | "column" | "clock" | "moments">) {
  const timeNs = useClockTime(clock);
  const [a, b] = traces as [Trace, Trace];
  const own = valueAt(a, column, timeNs);
  const other = valueAt(b, column, mapTime(moments.time_a, moments.time_b, timeNs));
  return (
    <span className="overlay-plot-now-values num">
      A {valueText(own)} · B {valueText(other)} · Δ{" "}
      {own === null || other === null ? "–" : valueText(own - other)}
    </span>
  );
}
