import { useEffect, useState } from "react";
import { below } from "../../api/episode";
import { getConversion, type OtherFormat, startConversion } from "../../api/facts";
import type { Conversion } from "../../api/schema";
import { useSession } from "../../api/session";
import { bytesText } from "./wording";

export interface OtherToolProps {
  id: string;
  format: OtherFormat;
  title: string;
  /** What starts the tool with the recording, where something does. */
  command: string | null;
  words: string;
}

const AGAIN_MS = 500;

/** One tool: the episode is converted when its window is opened, so that the click that follows is quick. */
export function OtherTool({ id, format, title, command, words }: OtherToolProps) {
  const [standing, setStanding] = useState<Conversion | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [copied, setCopied] = useState(false);
  const isReadOnly = useSession().read_only;
  useEffect(() => {
    if (isReadOnly) return;
    const control = new AbortController();
    let timer = 0;
    const follow = (now: Conversion) => {
      if (control.signal.aborted) return;
      setStanding(now);
      if (now.state === "working") timer = window.setTimeout(ask, AGAIN_MS);
    };
    const ask = () => void getConversion(id, format, control.signal).then(follow, stop);
    const stop = (reason: unknown) => {
      if (!control.signal.aborted)
        setError(reason instanceof Error ? reason.message : String(reason));
    };
    startConversion(id, format).then(follow, stop);
    return () => {
      control.abort();
      clearTimeout(timer);
    };
  }, [id, format, isReadOnly]);
  const waiting = isReadOnly ? "converted when it is fetched" : "converting…";
  const problem = error ?? (standing?.state === "failed" ? standing.reason : null);
  return (
    <li>
      <h3>{title}</h3>
      <p className="muted">{words}</p>
      {problem ? (
        <p role="alert">{problem}</p>
      ) : (
        <p className="downloads-way">
          {command && <code>{command}</code>}
          {command && (
            <button
              type="button"
              onClick={() =>
                void navigator.clipboard?.writeText(command).then(() => setCopied(true))
              }
            >
              {copied ? "Copied" : "Copy"}
            </button>
          )}
          <a className="button" href={`/api${below(id, format)}`} download>
            Download .{format}
          </a>
          <span className="muted" role="status">
            {standing?.state === "ready" ? bytesText(standing.bytes ?? 0) : waiting}
          </span>
        </p>
      )}
    </li>
  );
}
