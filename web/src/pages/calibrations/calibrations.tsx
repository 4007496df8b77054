import { type FormEvent, useEffect, useRef, useState } from "react";
import { getCalibrations, liftHalt } from "../../api/calibrations";
import { browseAddress } from "../../api/dashboards";
import type { CalibrationFacts, HaltFacts, StationCheckFacts } from "../../api/schema";
import { useMay } from "../../api/session";
import { useAnswer } from "../../api/use_answer";
import { Dialog } from "../../parts/dialog";
import { Link } from "../../parts/link";
import { Notice, Waiting } from "../../parts/notice";
import { count } from "../../parts/words";
import { agoText, dueText, minuteText, stateOf } from "./calibration_words";
import "./calibrations.css";

/** What is in force at every station, whether it still holds, and what was halted. */
export default function Calibrations(_: { address: URL }) {
  const answer = useAnswer(getCalibrations, []);
  const [lifting, setLifting] = useState<HaltFacts | null>(null);
  const [said, setSaid] = useState("");
  if (answer.error && !answer.value) return <Notice error={answer.error} again={answer.again} />;
  if (!answer.value) return <Waiting what="Loading the calibrations" />;
  return (
    <div className="calibrations">
      <header>
        <h1>Calibrations</h1>
        <p className="muted">
          Whether the cameras of every station are where they were.{" "}
          <Link href="/dashboards#calibration_drift">Drift over time</Link>
        </p>
      </header>
      {said && (
        <p className="calibrations-said" role="status">
          {said}
        </p>
      )}
      {answer.value.length === 0 && <Nothing />}
      {answer.value.map((facts) => (
        <StationCard key={facts.name} facts={facts} onLift={setLifting} />
      ))}
      {lifting && (
        <LiftDialog
          halt={lifting}
          onClose={() => setLifting(null)}
          onLifted={(words) => {
            setSaid(words);
            setLifting(null);
            answer.again();
          }}
        />
      )}
    </div>
  );
}

function Nothing() {
  return (
    <section className="card calibration-card">
      <h2>No episode names a calibration yet</h2>
      <p>Calibrate a camera, note where a marker is, and record with the document:</p>
      <pre>
        {
          "corporeal calibrate guide --driver camera -o cell.yaml --open\ncorporeal calibrate reference --driver camera -c cell.yaml\ncorporeal record --driver camera --calibration cell.yaml -w LAB"
        }
      </pre>
    </section>
  );
}

function StationCard({
  facts,
  onLift,
}: {
  facts: CalibrationFacts;
  onLift: (halt: HaltFacts) => void;
}) {
  const state = stateOf(facts);
  const now = Date.now();
  const episodes = facts.versions.reduce((sum, version) => sum + version.episodes, 0);
  return (
    <section className="card calibration-card" aria-label={`Calibration ${facts.name}`}>
      <h2>
        {facts.reference} <span className={state.chip}>{state.text}</span>
      </h2>
      {facts.halt && <HaltPanel halt={facts.halt} onLift={onLift} />}
      {facts.creeps.map((words) => (
        <p key={words} className="calibration-creep">
          {words}
        </p>
      ))}
      <dl className="calibration-facts">
        <Fact name="Measured">{facts.measured ?? "not known"}</Fact>
        <Fact name="Last check">{facts.checked_at ? agoText(facts.checked_at, now) : "never"}</Fact>
        <Fact name="Next check due">{dueText(facts, now)}</Fact>
        <Fact name="Checked every">
          {facts.every_min ? `${facts.every_min} min` : "not planned"}
        </Fact>
        <Fact name="Episodes">{episodes.toLocaleString("en")}</Fact>
      </dl>
      {facts.cameras.length > 0 && (
        <ul className="calibration-cameras">
          {facts.cameras.map((camera) => (
            <li key={camera.name}>
              <b>{camera.name}</b>
              <span className="muted">
                {[
                  camera.uncertainty_px !== null && `a pixel known to ${camera.uncertainty_px} px`,
                  camera.rms_px !== null && `rms ${camera.rms_px} px`,
                  camera.markers.length
                    ? `verified by ${camera.markers.join(", ")}`
                    : "no marker verifies it",
                ]
                  .filter(Boolean)
                  .join("; ")}
              </span>
            </li>
          ))}
        </ul>
      )}
      <History facts={facts} />
      <Versions facts={facts} />
    </section>
  );
}

function Fact({ name, children }: { name: string; children: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function HaltPanel({ halt, onLift }: { halt: HaltFacts; onLift: (halt: HaltFacts) => void }) {
  const mayJudge = useMay("judge");
  return (
    <div className="calibration-halt" role="alert">
      <p>
        <b>{halt.why}</b>
      </p>
      <p>
        {count(halt.held, "episode")} since{" "}
        {halt.since ? `the good check of ${minuteText(halt.since)}` : "its beginning"}{" "}
        {halt.held === 1 ? "is" : "are"} quarantined.{" "}
        <Link href={browseAddress(halt.query) ?? "/"}>See them</Link>
      </p>
      <p>Fasten what moved and calibrate it again; or, if nothing is wrong with them:</p>
      {mayJudge ? (
        <button type="button" onClick={() => onLift(halt)}>
          Lift the halt…
        </button>
      ) : (
        <p className="muted">Lifting it takes the right to judge episodes.</p>
      )}
    </div>
  );
}

function History({ facts }: { facts: CalibrationFacts }) {
  if (!facts.checks.length) return <p className="muted">No check so far.</p>;
  return (
    <div className="calibration-scroll">
      <table className="calibration-checks">
        <thead>
          <tr>
            <th scope="col">When (UTC)</th>
            <th scope="col">Result</th>
            <th scope="col">Marker</th>
            <th scope="col" className="right">
              Shift
            </th>
            <th scope="col" className="right">
              Turn
            </th>
            <th scope="col">Who</th>
          </tr>
        </thead>
        <tbody>
          {facts.checks.map((check) => (
            <CheckRows key={`${check.what}${check.at}`} check={check} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function CheckRows({ check }: { check: StationCheckFacts }) {
  const result =
    check.what === "lift" ? (
      <span className="chip">lifted</span>
    ) : (
      <span className={check.passed ? "chip accepted" : "chip fail"}>
        {check.passed ? "good" : "halt"}
      </span>
    );
  if (!check.markers.length)
    return (
      <tr>
        <td className="num">{minuteText(check.at)}</td>
        <td>{result}</td>
        <td colSpan={3}>{check.why}</td>
        <td>{check.who}</td>
      </tr>
    );
  return check.markers.map((marker, place) => (
    <tr key={`${marker.camera} ${marker.marker}`}>
      <td className="num">{place === 0 && minuteText(check.at)}</td>
      <td>{place === 0 && result}</td>
      <td>
        {marker.marker} by {marker.camera}
        {marker.cause !== "nothing" && <b> · moved: {marker.cause}</b>}
      </td>
      <td className="num right">
        {(1000 * marker.distance_m).toFixed(2)} of {(1000 * marker.limit_m).toFixed(1)} mm
      </td>
      <td className="num right">
        {marker.angle_deg.toFixed(2)} of {marker.limit_deg.toFixed(1)}°
      </td>
      <td>{place === 0 && check.who}</td>
    </tr>
  ));
}

function Versions({ facts }: { facts: CalibrationFacts }) {
  const used = facts.versions.filter((version) => version.episodes > 0);
  const lifted = facts.halts.filter((halt) => halt.lifted_at);
  if (!used.length && !lifted.length) return null;
  return (
    <details>
      <summary>Versions and halts before</summary>
      <ul className="calibration-versions">
        {used.map((version) => (
          <li key={version.reference}>
            <Link href={browseAddress(version.query) ?? "/"}>{version.reference}</Link>:{" "}
            {count(version.episodes, "episode")}
            {version.first && version.last
              ? `, recorded ${version.first.slice(0, 10)} to ${version.last.slice(0, 10)}`
              : ""}
          </li>
        ))}
        {lifted.map((halt) => (
          <li key={halt.key}>
            Halt of {minuteText(halt.at)} ({halt.why}), lifted by {halt.lifted_by}:{" "}
            {halt.lifted_why}. <Link href={browseAddress(halt.query) ?? "/"}>Its episodes</Link>
          </li>
        ))}
      </ul>
    </details>
  );
}

function LiftDialog({
  halt,
  onClose,
  onLifted,
}: {
  halt: HaltFacts;
  onClose: () => void;
  onLifted: (words: string) => void;
}) {
  const [reason, setReason] = useState("");
  const input = useRef<HTMLInputElement>(null);
  // After the dialog was opened, which puts the focus on its first button.
  useEffect(() => input.current?.focus(), []);
  const [failure, setFailure] = useState("");
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (!reason.trim()) return;
    liftHalt(halt.key, reason.trim())
      .then(({ count: given, kept }) =>
        onLifted(
          `Lifted: ${count(given, "episode")} ${given === 1 ? "is" : "are"} as before${
            kept ? `; ${kept} that somebody judged since stay as they are` : ""
          }.`,
        ),
      )
      .catch((error: Error) => setFailure(error.message));
  };
  return (
    <Dialog title="Why may these episodes be used?" onClose={onClose}>
      <form className="calibration-lift" onSubmit={send}>
        <p>
          {count(halt.held, "episode")} will be what {halt.held === 1 ? "it was" : "they were"}{" "}
          before, and collection goes on. Your name and the reason are in the audit log.
        </p>
        <label>
          Reason
          <input
            value={reason}
            maxLength={500}
            ref={input}
            onChange={(event) => setReason(event.target.value)}
          />
        </label>
        {failure && <p role="alert">{failure}</p>}
        <button type="submit" disabled={!reason.trim()}>
          Lift the halt
        </button>
      </form>
    </Dialog>
  );
}
