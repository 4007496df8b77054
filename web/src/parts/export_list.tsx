import { useEffect, useState } from "react";
import {
  type ExportFormat,
  exportEpisodes,
  exportFormats,
  getEpisodeExports,
} from "../api/exports";
import type { MarkTarget } from "../api/marks";
import type { ExportState } from "../api/schema";
import { useAnswer } from "../api/use_answer";
import { Dialog } from "./dialog";
import "./export_list.css";
import { count } from "./words";

const LOOK_AGAIN_MS = 1500;

/** What an export is to be, with the button that starts it. */
export function FormatChoice({
  format,
  onFormat,
  onStart,
}: {
  format: ExportFormat;
  onFormat: (format: ExportFormat) => void;
  onStart: () => void;
}) {
  return (
    <p>
      <select
        value={format}
        aria-label="Format"
        onChange={(event) => onFormat(event.target.value as ExportFormat)}
      >
        {exportFormats.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>{" "}
      <button type="button" className="primary" onClick={onStart}>
        Export
      </button>
    </p>
  );
}

/** How far exports are; while one is under way it is asked again and again. */
export function ExportList({ states, again }: { states: ExportState[]; again: () => void }) {
  const isWorking = states.some(({ phase }) => phase === "working");
  useEffect(() => {
    if (!isWorking) return;
    const timer = setInterval(again, LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isWorking, again]);
  return (
    <ul className="export-list" aria-live="polite">
      {states.map((each) => (
        <li key={each.format}>
          <span>
            <b>{each.format}</b> {each.phase === "ready" && <code>{each.folder}</code>}
            {each.error}
          </span>
          {each.phase === "working" ? (
            <span className="num">
              <progress max={each.total} value={each.done} aria-label="Episodes written" />{" "}
              {each.done} of {each.total}
            </span>
          ) : (
            <span className={`chip ${each.phase === "ready" ? "accepted" : "failed"}`}>
              {each.phase}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Exports what was chosen, on the server and in the background: the dialog may be closed. */
export function ExportDialog({
  target,
  episodes,
  query,
  onClose,
}: {
  target: MarkTarget;
  episodes: number;
  query: string;
  onClose: () => void;
}) {
  const [format, setFormat] = useState<ExportFormat>("lerobot");
  const [name, setName] = useState("");
  const [refused, setRefused] = useState("");
  const { value, again } = useAnswer(
    (signal) => (name ? getEpisodeExports(name, signal) : Promise.resolve([])),
    [name],
  );
  const start = () => {
    exportEpisodes(target, format).then(
      (started) => {
        setRefused("");
        setName(started.name);
        again();
      },
      (reason: Error) => setRefused(reason.message),
    );
  };
  return (
    <Dialog title={`Export ${count(episodes, "episode")}`} onClose={onClose}>
      <div className="export-dialog">
        <FormatChoice format={format} onFormat={setFormat} onStart={start} />
        {refused && <p role="alert">{refused}</p>}
        <ExportList states={value ?? []} again={again} />
        <p className="muted">
          Folders are below the workspace, and it goes on if you leave. For training people can
          repeat, make a release. With options, in a terminal:
        </p>
        <pre>{`corporeal export '${query}' -w . --format ${format} --out dataset`}</pre>
      </div>
    </Dialog>
  );
}
