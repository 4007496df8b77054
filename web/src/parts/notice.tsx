import { type FormEvent, useState } from "react";
import { StudioError } from "../api/client";
import { Link } from "./link";
import { go } from "./router";

/** What went wrong, in the server's own sentence, and a way on. */
export function Notice({ error, again }: { error: Error; again?: () => void }) {
  const isUnknown = error instanceof StudioError && error.status === 404;
  if (isUnknown && /^episode /.test(error.message))
    return (
      <NotFound
        title="Episode not found"
        words={error.message.replace(/ List them with: .*/, "")}
      />
    );
  return (
    <div className="notice" role="alert">
      <p>{error.message}</p>
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** A page or an episode that is not there, with a way to what was meant. */
export function NotFound({ title, words }: { title: string; words?: string }) {
  const [text, setText] = useState("");
  const search = (event: FormEvent) => {
    event.preventDefault();
    go(`/episodes?query=${encodeURIComponent(text.trim())}`);
  };
  return (
    <div className="not-found">
      <h1>{title}</h1>
      {words && (
        <p className="muted" role="alert">
          {words}
        </p>
      )}
      <form onSubmit={search} aria-label="Search episodes">
        <input
          type="search"
          aria-label="An episode by its number or a word"
          placeholder="An episode by its number or a word"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />{" "}
        <button type="submit" className="primary">
          Search
        </button>
      </form>
      <p>
        <Link href="/">Overview</Link> · <Link href="/episodes">All episodes</Link>
      </p>
    </div>
  );
}

export function Waiting({ what = "Loading" }: { what?: string }) {
  return (
    <p className="waiting" role="status">
      {what}…
    </p>
  );
}

/** Of the checks so many must have run for an accepted episode to be shown in green. */
export const LEAST_ASSESSED = 0.7;

/** The verdict in force; where a person gave it, who and why. */
export function VerdictChip({
  verdict,
  decision,
  assessed = null,
}: {
  verdict: string | null;
  decision?: { who: string; why: string | null } | null;
  /** The share of the checks that could run, where that is known. */
  assessed?: number | null;
}) {
  const whose = decision && `${decision.who} decided${decision.why ? `: ${decision.why}` : ""}`;
  // Few checks are no green light, unless a person has looked.
  const isUnsure =
    verdict === "accepted" && !decision && assessed !== null && assessed < LEAST_ASSESSED;
  const ran = isUnsure ? `only ${Math.round(100 * assessed)} % of the checks could run` : null;
  return (
    <span
      className={`chip ${isUnsure ? "unsure" : (verdict ?? "unknown")}`}
      title={whose ?? ran ?? undefined}
    >
      {verdict ?? "not checked"}
      {decision && (
        <span role="img" aria-label={`by ${decision.who}`}>
          {" "}
          ✓
        </span>
      )}
    </span>
  );
}
