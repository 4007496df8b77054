import { useMemo } from "react";
import type { EpisodeDetail, EventFacts } from "../../api/schema";
import { getTrace, type Trace } from "../../api/signal";
import { useAnswer } from "../../api/use_answer";
import { clockText } from "../../player/clock";
import { shareOf } from "../../player/timeline_rows";
import { spoken } from "./wording";

interface Props {
  episode: EpisodeDetail;
  /** Events that the rule goes by, the surest first. */
  wanted: string[];
  events: EventFacts[];
  startNs: number;
  endNs: number;
  marks: { timeNs: number; className: string }[];
}

const WIDTH = 1000;
const HEIGHT = 120;
const MOST_LINES = 4;

/** The signal in which the rule's event is seen, with the event and both answers drawn into it. */
export function RuleSignal({ episode, wanted, events, startNs, endNs, marks }: Props) {
  const near = events.filter((event) => event.time_ns >= startNs && event.time_ns <= endNs);
  const fitting = wanted.flatMap((name) => near.filter((event) => event.name === name));
  const shown = (fitting.length ? fitting : near).slice(0, 12);
  const stream = episode.streams.find(
    ({ path, kind }) => kind === "array" && path === shown[0]?.stream.split(":")[0],
  );
  const trace = useAnswer<Trace | null>(
    (signal) =>
      stream
        ? getTrace(
            episode.id,
            { stream: stream.path, columns: [], startNs, endNs, points: 600 },
            signal,
          )
        : Promise.resolve(null),
    [episode.id, stream?.path, startNs, endNs],
  );
  const lines = useMemo(
    () => (trace.value ? pathsOf(trace.value, startNs, endNs) : []),
    [trace.value, startNs, endNs],
  );
  const at = (timeNs: number) => 100 * shareOf(timeNs, startNs, endNs);
  return (
    <div className={`lane-strip rule-signal ${stream ? "" : "rule-signal-low"}`}>
      <span className="lane-strip-name" title={stream?.path}>
        {stream ? spoken(stream.name) : "Events"}
      </span>
      <div className="lane-strip-track">
        {lines.length > 0 && (
          <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden>
            {lines.map((line, place) => (
              <path key={place} d={line} style={{ stroke: `var(--line-${place + 1})` }} />
            ))}
          </svg>
        )}
        {marks.map((mark) => (
          <i
            key={mark.className}
            className={mark.className}
            style={{ left: `${at(mark.timeNs)}%` }}
          />
        ))}
        {shown.map((event, place) => (
          <span
            key={`${event.time_ns} ${event.name} ${event.side}`}
            className={`rule-event ${wanted.includes(event.name) ? "" : "rule-event-other"}`}
            style={{ left: `${at(event.time_ns)}%`, bottom: 2 + 14 * (place % 3) }}
            title={`${spoken(event.name)} ${event.side} at ${clockText(event.time_ns)}, ${Math.round(event.confidence * 100)} % sure`}
          >
            ▲ {spoken(event.name)}
          </span>
        ))}
        {!shown.length && (
          <span className="rule-none">No event was detected here: go by the pictures.</span>
        )}
      </div>
    </div>
  );
}

/** The columns that change most, each over its own range. */
function pathsOf(trace: Trace, startNs: number, endNs: number): string[] {
  const columns = [...trace.high.values()].flatMap((values) => {
    const finite = Array.from(values).filter(Number.isFinite);
    if (!finite.length) return [];
    const low = finite.reduce((a, b) => Math.min(a, b));
    return [{ values, low, range: finite.reduce((a, b) => Math.max(a, b)) - low }];
  });
  const liveliest = columns.sort((a, b) => b.range - a.range).slice(0, MOST_LINES);
  return liveliest.map(({ values, low, range }) => {
    let path = "";
    for (let place = 0; place < values.length; place += 1) {
      const value = values[place] as number;
      if (!Number.isFinite(value)) continue;
      const x = WIDTH * shareOf(trace.time[place] as number, startNs, endNs);
      const y = HEIGHT - 6 - ((HEIGHT - 12) * (value - low)) / (range || 1);
      path += `${path ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    }
    return path;
  });
}
