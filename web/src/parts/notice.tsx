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

export function VerdictChip({ verdict }: { verdict: string | null }) {
  return <span className={`chip ${verdict ?? "unknown"}`}>{verdict ?? "not checked"}</span>;
}
