import { type Recorder, type StreamHealth, skewText } from "./health";
import { Sparkline } from "./sparkline";

const words: Record<StreamHealth["state"], string> = {
  good: "good",
  slow: "slow",
  silent: "dead",
  waiting: "waiting",
};

const groups: [string, (stream: StreamHealth) => boolean][] = [
  ["Cameras", ({ kind }) => kind === "video" || kind === "depth"],
  ["Commands", ({ path }) => path.startsWith("actions/")],
  ["Sensors", () => true],
];

/** The streams of a recorder: what is not as it should be, and the others by kind, folded. */
export function StreamTable({ recorder }: { recorder: Recorder }) {
  const streams = recorder.health?.streams ?? [];
  const bad = streams
    .filter((stream) => !isWell(stream))
    // What is dead comes first.
    .sort((a, b) => Number(b.state === "silent") - Number(a.state === "silent"));
  const well = streams.filter(isWell);
  const taken = new Set<StreamHealth>();
  return (
    <>
      {bad.length > 0 && <Streams recorder={recorder} streams={bad} />}
      {groups.map(([name, isOf]) => {
        const mine = well.filter((stream) => !taken.has(stream) && isOf(stream));
        for (const stream of mine) taken.add(stream);
        if (!mine.length) return null;
        return (
          <details key={name} className="stream-group">
            <summary>
              {name} <span className="chip live-good">{mine.length} good</span>
            </summary>
            <Streams recorder={recorder} streams={mine} />
          </details>
        );
      })}
    </>
  );
}

/** Whether nobody needs to look at it. */
function isWell({ state, refused, late }: StreamHealth): boolean {
  return state === "good" && !refused && !late;
}

/** Each stream: is it there, is it fast enough, what was lost. */
function Streams({ recorder, streams }: { recorder: Recorder; streams: StreamHealth[] }) {
  return (
    <div className="stream-table-scroll">
      <table className="stream-table">
        <thead>
          <tr>
            <th scope="col">Stream</th>
            <th scope="col">State</th>
            <th scope="col">Rate (actual / expected)</th>
            <th scope="col">Last 30 s</th>
            <th scope="col" className="right">
              Age
            </th>
            <th scope="col" className="right">
              Missed
            </th>
            <th scope="col" className="right">
              Dropped
            </th>
            <th
              scope="col"
              className="right"
              title="How much later than its clock says its samples arrive, once offset and drift of the clock are estimated"
            >
              Skew
            </th>
          </tr>
        </thead>
        <tbody>
          {streams.map((stream) => (
            <Row key={stream.path} stream={stream} values={recorder.history[stream.path] ?? []} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ stream, values }: { stream: StreamHealth; values: number[] }) {
  return (
    <tr className={`stream-${stream.state}`}>
      <th scope="row">{stream.path}</th>
      <td>
        <span className={`chip live-${stream.state}`}>{words[stream.state]}</span>
      </td>
      <td>
        <Rate stream={stream} />
      </td>
      <td>
        <Sparkline values={values} nominal={stream.nominal_hz} />
      </td>
      <td className="num right">{stream.age_s === null ? "never" : ageText(stream.age_s)}</td>
      <td className={stream.late ? "num right live-warn" : "num right"}>
        {stream.late.toLocaleString("en")}
      </td>
      <td
        className={stream.refused ? "num right live-bad" : "num right"}
        title={stream.reason || undefined}
      >
        {stream.refused.toLocaleString("en")}
        {stream.reason && <small>{stream.reason}</small>}
      </td>
      <td className="num right">{skewText(stream)}</td>
    </tr>
  );
}

function Rate({ stream }: { stream: StreamHealth }) {
  if (!stream.nominal_hz) return <span className="muted">on event</span>;
  const rate = stream.state === "silent" ? 0 : stream.rate_hz;
  const part = Math.min(rate / stream.nominal_hz, 1);
  return (
    <span className="live-rate">
      <meter
        min={0}
        max={1}
        low={0.8}
        high={0.8}
        optimum={1}
        value={part}
        aria-label={`${Math.round(part * 100)} % of the rate it should have`}
      />
      <span className="num">
        {rate.toFixed(rate < 100 ? 1 : 0)} / {stream.nominal_hz.toFixed(0)} Hz
      </span>
    </span>
  );
}

function ageText(seconds: number): string {
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`;
}
