/** What went wrong, in the server's own sentence, and a way on. */
export function Notice({ error, again }: { error: Error; again?: () => void }) {
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

export function Waiting({ what = "Loading" }: { what?: string }) {
  return (
    <p className="waiting" role="status">
      {what}…
    </p>
  );
}

/** The verdict in force; where a person gave it, who and why. */
export function VerdictChip({
  verdict,
  decision,
}: {
  verdict: string | null;
  decision?: { who: string; why: string | null } | null;
}) {
  const whose = decision && `${decision.who} decided${decision.why ? `: ${decision.why}` : ""}`;
  return (
    <span className={`chip ${verdict ?? "unknown"}`} title={whose ?? undefined}>
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
