import { count } from "../../parts/words";
import { alarmsOf, bytesText, elapsedText, type Health, nameOf, type Recorder } from "./health";
import { StreamTable } from "./stream_table";

/** One recorder: what it does, how its streams do, what its cameras see. */
export function RecorderCard({ recorder }: { recorder: Recorder }) {
  const { health, status } = recorder;
  const isGone = status === "gone" || status === "searching";
  const isOld = status !== "connected";
  const isBad = alarmsOf(recorder).some((alarm) => alarm.isLoud);
  return (
    <section
      className={`recorder card ${isBad ? "recorder-bad" : ""}`}
      aria-label={`Recorder ${nameOf(recorder)}`}
    >
      <header>
        <h2>
          <State recorder={recorder} /> {nameOf(recorder)}
        </h2>
        <span className="muted mono">
          {[health?.episode, nameOf(recorder) === recorder.address ? "" : recorder.address]
            .filter(Boolean)
            .join(" · ")}
        </span>
      </header>
      {status === "ended" && <p className="muted">{recorder.sentence}</p>}
      {isGone && (
        <p className="recorder-gone">
          {recorder.sentence || `Looking for a recorder at ${recorder.address}.`}
        </p>
      )}
      {status === "searching" && (
        <p className="muted">
          Start it with{" "}
          <code>corporeal record --health-port {recorder.address.split(":").pop()}</code>; it
          appears here within a few seconds.
        </p>
      )}
      {health && (
        <div className={isOld ? "recorder-old" : undefined}>
          <Facts health={health} />
          <Asks health={health} />
          <Pictures recorder={recorder} />
          <StreamTable recorder={recorder} />
        </div>
      )}
    </section>
  );
}

function State({ recorder }: { recorder: Recorder }) {
  const { health, status } = recorder;
  if (status === "ended" || health?.state === "ended")
    return <span className="chip">ended, {count(health?.episodes ?? 0, "episode")}</span>;
  if (status !== "connected")
    return <span className="chip fail">{status === "gone" ? "offline" : "not found"}</span>;
  const isRecording = health?.state === "recording";
  return (
    <span className={isRecording ? "chip recorder-on" : "chip"}>
      {isRecording ? "● recording" : (health?.state ?? "starting")}
    </span>
  );
}

function Facts({ health }: { health: Health }) {
  const isFull = health.disk_free_bytes < 2 ** 31;
  const facts: [string, string, boolean][] = [
    ["Running for", elapsedText(health.elapsed_s), false],
    ["Episodes done", String(health.episodes), false],
    ["Disk left", bytesText(health.disk_free_bytes), isFull],
    ["Buffered", bytesText(health.waiting_bytes), health.waiting_bytes > 256e6],
    ["Written, this episode", bytesText(health.written_bytes), false],
    [
      "Slowest disk flush",
      `${(health.slowest_sync_s * 1000).toFixed(0)} ms`,
      health.slowest_sync_s > 1,
    ],
  ];
  return (
    <dl className="recorder-facts">
      {facts.map(([name, value, isBad]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className={isBad ? "num live-bad" : "num"}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const chips = { good: "accepted", due: "", overdue: "quarantine", halted: "fail" };

/** How the calibration stands, and what the operator is to do before the next episode. */
function Asks({ health }: { health: Health }) {
  const { calibration, asks = [] } = health;
  if (!calibration && !asks.length) return null;
  return (
    <ul className="recorder-asks" aria-label="Before the next episode">
      {calibration && (
        <li>
          <span className={`chip ${chips[calibration.state]}`}>
            calibration {calibration.state}
          </span>{" "}
          {calibration.sentence}
        </li>
      )}
      {asks.map((ask) => (
        <li key={ask}>{ask}</li>
      ))}
    </ul>
  );
}

function Pictures({ recorder }: { recorder: Recorder }) {
  const cameras = (recorder.health?.streams ?? []).filter(
    ({ path, kind }) => kind === "video" || kind === "depth" || path in recorder.pictures,
  );
  if (!cameras.length) return null;
  return (
    <ul className="recorder-pictures" aria-label="Cameras">
      {cameras.map(({ path, state }) => (
        <li key={path} className={state === "silent" ? "picture-dead" : undefined}>
          {recorder.pictures[path] ? (
            <img src={recorder.pictures[path]} alt={`What ${path} sees`} />
          ) : (
            <span className="picture-none">no picture</span>
          )}
          <span>
            {path.split("/").pop()}
            {state === "silent" && " · dead"}
          </span>
        </li>
      ))}
    </ul>
  );
}
