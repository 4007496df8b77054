import { type CSSProperties, useMemo, useState } from "react";
import type { EpisodeDetail, EpisodeStream } from "../../api/schema";
import { getTrace } from "../../api/signal";
import { useAnswer } from "../../api/use_answer";
import { Notice, Waiting } from "../../parts/notice";
import type { Clock } from "../../player/clock";
import { columnNames } from "../../plots/column_groups";
import { plottable } from "../../plots/panels";
import "./overlay.css";
import { mostDifferent } from "./overlay_curves";
import { OverlayPlot } from "./overlay_plot";
import { inkOf, type Side } from "./sides";

export interface OverlayProps {
  sides: Side[];
  clock: Clock;
}

const MOST_COLUMNS = 64;
const POINTS = 1500;
const FIRST = 3;

/** One stream of all over each other: A solid, the others dashed, on the time of A. */
export function Overlay({ sides, clock }: OverlayProps) {
  const shared = useMemo(() => sharedStreams(sides), [sides]);
  const [path, setPath] = useState(
    () => shared.find(({ name }) => name === "joint_position")?.path ?? shared[0]?.path ?? "",
  );
  const stream = shared.find((each) => each.path === path);
  if (!stream) return <p className="waiting">They have no stream of numbers in common.</p>;
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
        {sides.map(({ letter }) => (
          <span
            key={letter}
            className="overlay-key"
            style={{ "--ink-of-side": inkOf(letter) } as CSSProperties}
          >
            {letter}
          </span>
        ))}
      </div>
      <Traces key={path} sides={sides} clock={clock} stream={stream} />
    </div>
  );
}

function Traces({ sides, clock, stream }: OverlayProps & { stream: EpisodeStream }) {
  const names = columnNames(stream).slice(0, MOST_COLUMNS);
  const [chosen, setChosen] = useState<number[] | null>(null);
  const ask = ({ id, start_ns, end_ns }: EpisodeDetail, signal: AbortSignal) => {
    const wish = { stream: stream.path, columns: names.map((_, place) => place), points: POINTS };
    return getTrace(id, { ...wish, startNs: start_ns, endNs: end_ns }, signal);
  };
  const { value, error, again } = useAnswer(
    (signal) => Promise.all(sides.map(({ episode }) => ask(episode, signal))),
    [stream.path, ...sides.map(({ episode }) => episode.id)],
  );
  const first = useMemo(
    () =>
      value
        ? mostDifferent(
            value,
            sides.map(({ moments }) => moments),
            FIRST,
          )
        : [],
    [value, sides],
  );
  if (error) return <Notice error={error} again={again} />;
  if (!value) return <Waiting what="Reading the signals" />;
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
          sides={sides}
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

function sharedStreams(sides: Side[]): EpisodeStream[] {
  const [a, ...others] = sides.map(({ episode }) => plottable(episode)) as [
    EpisodeStream[],
    ...EpisodeStream[][],
  ];
  return a.filter(({ path }) => others.every((other) => other.some((each) => each.path === path)));
}
