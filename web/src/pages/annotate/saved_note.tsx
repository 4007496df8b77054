import type { Bench } from "./use_bench";

/** Whether everything is saved; if not, where it is meanwhile. */
export function SavedNote({ bench }: { bench: Bench }) {
  const { waiting, isAway, isSafe, refused, said } = bench.work;
  const edits = `${waiting} ${waiting === 1 ? "edit" : "edits"}`;
  if (refused) {
    return (
      <span className="saved-note" data-state="refused" role="alert">
        {refused} {edits} {waiting === 1 ? "stays" : "stay"} in this browser.
        <button type="button" onClick={() => bench.book.retry()}>
          Try again
        </button>
        <button type="button" onClick={() => void bench.book.decide("theirs")}>
          Let them go
        </button>
      </span>
    );
  }
  const state = !waiting ? "saved" : isAway ? "away" : "sending";
  const text = !waiting
    ? "saved"
    : isAway
      ? `${edits} ${waiting === 1 ? "waits" : "wait"} for the server`
      : "saving…";
  return (
    <span
      className="saved-note"
      data-state={state}
      data-waiting={waiting}
      role="status"
      title={
        waiting
          ? "They are kept in this browser and sent as soon as the server answers."
          : "The server has every edit."
      }
    >
      <span aria-hidden>{!waiting ? "✓" : "•"}</span> {text}
      {waiting > 0 && !isSafe && (
        <b> Keep this window open: the browser has no room to keep them.</b>
      )}
      {said && (
        <span className="saved-said">
          {said}
          <button
            type="button"
            className="quiet"
            aria-label="Close this message"
            onClick={() => bench.book.hush()}
          >
            ×
          </button>
        </span>
      )}
    </span>
  );
}
