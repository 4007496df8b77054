import type { LastTake, Recording, Welcome } from "./host";
import type { Operator } from "./operator";

/** What is recorded, what the operator is to do, and what became of the last take. */
export function RecordingBar({
  operator,
  welcome,
  recording,
}: {
  operator: Operator;
  welcome: Welcome | null;
  recording: Recording | null;
}) {
  const { link } = operator;
  const runs = recording?.state === "recording" || recording?.state === "countdown";
  const last = recording?.last ?? null;
  const asked = recording?.card ?? welcome?.instruction;
  return (
    <section className="take card" aria-label="Recording" data-state={recording?.state ?? "off"}>
      {asked && <p className="take-instruction">{asked}</p>}
      <p className="take-state num" role="status">
        {takeText(recording)}
      </p>
      {recording && recording.state !== "off" && (
        <div className="commands">
          <button type="button" className={runs ? "" : "primary"} onClick={operator.take}>
            {recording.state === "countdown" ? "Cancel" : runs ? "End" : "Start"} <kbd>T</kbd>
          </button>
          <button type="button" onClick={() => link.command("success", "button on the page")}>
            Success <kbd>Y</kbd>
          </button>
          <button type="button" onClick={() => link.command("failure", "button on the page")}>
            Failure <kbd>N</kbd>
          </button>
          <button
            type="button"
            disabled={!runs}
            onClick={() => link.command("discard", "button on the page")}
          >
            Discard <kbd>X</kbd>
          </button>
        </div>
      )}
      {!!recording?.lost && (
        <p role="alert">
          {recording.lost} {recording.lost === 1 ? "sample was" : "samples were"} lost: the recorder
          was behind. The takes say of which streams.
        </p>
      )}
      {last && <LastVerdict last={last} />}
    </section>
  );
}

function takeText(recording: Recording | null): string {
  if (!recording || recording.state === "off") return "Nothing is recorded.";
  const { state, episode, elapsed_s, countdown_s } = recording;
  if (state === "countdown") return `Begins in ${Math.ceil(countdown_s ?? 0)} s`;
  if (state === "recording") return `● ${(elapsed_s ?? 0).toFixed(1)} s  ${episode ?? ""}`;
  if (state === "idle") return "Ready to record.";
  return state === "post-roll" ? "The last take is brought to an end." : "Recording has ended.";
}

function LastVerdict({ last }: { last: LastTake }) {
  return (
    <p className="take-last">
      <span className={`chip ${last.verdict ?? ""}`}>{last.verdict ?? "unchecked"}</span>{" "}
      {last.episode}
      {last.outcome && ` · ${last.outcome}`}
      {last.findings?.[0] && <span className="muted"> {last.findings[0]}</span>}
    </p>
  );
}
