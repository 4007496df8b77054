// What people do with episodes: a verdict, tags, a note; or on to labelling, review and release.
import { useState } from "react";
import { announceMark, type Mark, type MarkTarget, putMark } from "../api/marks";
import { useMay } from "../api/session";
import { ExportDialog } from "./export_list";
import { Link } from "./link";
import "./mark_bar.css";
import { NoteDialog, ReasonDialog, TagDialog } from "./mark_dialogs";
import { useShortcuts } from "./shortcuts";

export interface MarkBarProps {
  target: MarkTarget;
  count: number;
  /** The same episodes as a query, for the pages that take one. */
  query: string;
  /** Tags that the episodes have, which can be taken off. */
  tags: string[];
  /** Where the keys are listed. */
  section: string;
  /** Keys act on this; without, on what is shown. */
  keysOn?: MarkTarget;
  isShown?: boolean;
}

type Asking = "quarantined" | "failed" | "tag" | "note";
const done = { accepted: "Accepted", quarantined: "Quarantined", failed: "Rejected" } as const;

export function MarkBar(props: MarkBarProps) {
  const { target, count, query, tags, section, keysOn, isShown = true } = props;
  const mayJudge = useMay("judge");
  const mayNote = useMay("annotate");
  const mayRelease = useMay("release");
  const mayExport = useMay("export");
  const [isExporting, setExporting] = useState(false);
  const [asking, setAsking] = useState<{ what: Asking; of: MarkTarget } | null>(null);
  const [error, setError] = useState("");
  const of = keysOn ?? target;
  const send = (on: MarkTarget, mark: Mark, words: string) => {
    setAsking(null);
    setError("");
    putMark(on, mark).then(
      (made) => {
        const left = Object.keys(made.kept).length;
        const stay = left ? ` ${left} in a release keep their state.` : "";
        announceMark({ key: made.key, words: `${words} ${episodes(made.count)}.${stay}` });
      },
      (reason: Error) => setError(reason.message),
    );
  };
  const accept = (on: MarkTarget) => send(on, { verdict: "accepted" }, done.accepted);
  const ask = (what: Asking, on: MarkTarget) => isSome(on) && setAsking({ what, of: on });
  useShortcuts(
    section,
    [
      { keys: ["a"], does: "Accept", run: () => isSome(of) && accept(of) },
      { keys: ["q"], does: "Quarantine, with a reason", run: () => ask("quarantined", of) },
    ],
    mayJudge,
  );
  useShortcuts(section, [{ keys: ["t"], does: "Tag", run: () => ask("tag", of) }], mayNote);
  if (!mayNote && !mayJudge) return null;
  const asked = encodeURIComponent(query);
  return (
    <>
      {isShown && (
        <span className="mark-bar" role="group" aria-label="Act on episodes">
          {mayJudge && (
            <>
              <button type="button" className="mark-accept" onClick={() => accept(target)}>
                Accept <kbd aria-hidden>a</kbd>
              </button>
              <button type="button" onClick={() => ask("quarantined", target)}>
                Quarantine <kbd aria-hidden>q</kbd>
              </button>
              <button type="button" onClick={() => ask("failed", target)}>
                Reject
              </button>
            </>
          )}
          <button type="button" onClick={() => ask("tag", target)}>
            Tag <kbd aria-hidden>t</kbd>
          </button>
          <button type="button" onClick={() => ask("note", target)}>
            Note
          </button>
          {mayJudge && (
            <>
              <Link className="button" href={`/labels/queues?query=${asked}`}>
                Send to labelling
              </Link>
              <Link className="button" href={`/review?query=${asked}`}>
                Review {count === 1 ? "it" : "these"}
              </Link>
            </>
          )}
          {mayRelease && (
            <Link className="button" href={`/releases/new?query=${asked}`}>
              Add to release
            </Link>
          )}
          {mayExport && (
            <button type="button" onClick={() => setExporting(true)}>
              Export
            </button>
          )}
          {error && (
            <span className="mark-error" role="alert">
              {error}
            </span>
          )}
        </span>
      )}
      {isExporting && (
        <ExportDialog
          target={target}
          episodes={count}
          query={query}
          onClose={() => setExporting(false)}
        />
      )}
      {(asking?.what === "quarantined" || asking?.what === "failed") && (
        <ReasonDialog
          verdict={asking.what}
          onClose={() => setAsking(null)}
          onReason={(verdict, reason) => send(asking.of, { verdict, reason }, done[verdict])}
        />
      )}
      {asking?.what === "tag" && (
        <TagDialog
          tags={tags}
          onClose={() => setAsking(null)}
          onTags={(added, removed) => send(asking.of, { tags: added, untags: removed }, "Tagged")}
        />
      )}
      {asking?.what === "note" && (
        <NoteDialog
          onClose={() => setAsking(null)}
          onNote={(note) => send(asking.of, { note }, "Noted on")}
        />
      )}
    </>
  );
}

function isSome(target: MarkTarget): boolean {
  return "query" in target || target.episodes.length > 0;
}

function episodes(count: number): string {
  return `${count.toLocaleString("en-GB")} episode${count === 1 ? "" : "s"}`;
}
