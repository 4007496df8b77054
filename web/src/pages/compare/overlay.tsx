import { useMemo, useState } from "react";
import type { EpisodeDetail, EpisodeStream } from "../../api/schema";
import { getTrace } from "../../api/signal";
import { useAnswer } from "../../api/use_answer";
import { Notice, Waiting } from "../../parts/notice";
import type { Clock } from "../../player/clock";
import { columnNames } from "../../plots/column_groups";
import { plottable } from "../../plots/panels";
import type { Moments } from "./following_clock";
import "./overlay.css";
import { mostDifferent } from "./overlay_curves";
import { OverlayPlot } from "./overlay_plot";

export interface OverlayProps {
  a: EpisodeDetail;
  b: EpisodeDetail;
  clock: Clock;
  moments: Moments;
}

const MOST_COLUMNS = 64;
const POINTS = 1500;
const FIRST = 3;

/** One stream of both over each other: A solid, B dashed, on the time of A. */
export function Overlay({ a, b, clock, moments }: OverlayProps) {
  const shared = useMemo(() => sharedStreams(a, b), [a, b]);
  const [path, setPath] = useState(
    () => shared.find(({ name }) => name === "joint_position")?.path ?? shared[0]?.path ?? "",
  );
  const stream = shared.find((each) => each.path === path);
  if (!stream) return <p className="waiting">The two have no stream of numbers in common.</p>;
  return (
    <div className="overlay">
      <div className="overlay-head">
        <label>
          Signal{" "}
          <select value={path} onChange={(event) => setPath(event.target.value)}>
            {shared.map((each) => (
              <option key={each.path} value={each.path}>
                {each.name.replaceAll("_", " ")}
              </option>
            ))}
          </select>
        </label>
        <span className="overlay-key overlay-key-a">A</span>
        <span className="overlay-key overlay-key-b">B</span>
      </div>
      <Traces key={path} a={a} b={b} clock={clock} moments={moments} stream={stream} />
    </div>
  );
}

function Traces({ a, b, clock, moments, stream }: OverlayProps & { stream: EpisodeStream }) {
  const names = columnNames(stream).slice(0, MOST_COLUMNS);
  const [chosen, setChosen] = useState<number[] | null>(null);
  const ask = ({ id, start_ns, end_ns }: EpisodeDetail, signal: AbortSignal) => {
    const wish = { stream: stream.path, columns: names.map((_, place) => place), points: POINTS };
    return getTrace(id, { ...wish, startNs: start_ns, endNs: end_ns }, signal);
  };
  const { value, error, again } = useAnswer(
    (signal) => Promise.all([ask(a, signal), ask(b, signal)]),
    [a.id, b.id, stream.path],
  );
  const first = useMemo(
    () => (value ? mostDifferent(value[0], value[1], moments, FIRST) : []),
    [value, moments],
  );
  if (error) return <Notice error={error} again={again} />;
  if (!value) return <Waiting what="Reading both" />;
  const columns = chosen ?? first;
  const units =
    typeof stream.unit === "string" ? names.map(() => stream.unit as string) : stream.unit;
  return (
    <>
      {columns.map((column, place) => (
        <OverlayPlot
          key={`${place} ${column}`}
          traces={value}
          column={column}
          names={names}
          unit={units[column] ?? ""}
          clock={clock}
          moments={moments}
          onColumn={(next) =>
            setChosen(columns.map((each, other) => (other === place ? next : each)))
          }
        />
      ))}
      {columns.length < names.length && columns.length < 8 && (
        <button
          type="button"
          className="quiet"
          onClick={() =>
            setChosen([...columns, names.findIndex((_, place) => !columns.includes(place))])
          }
        >
          + one more
        </button>
      )}
    </>
  );
}

function sharedStreams(a: EpisodeDetail, b: EpisodeDetail): EpisodeStream[] {
  const other = new Set(plottable(b).map(({ path }) => path));
  return plottable(a).filter(({ path }) => other.has(path));
}
