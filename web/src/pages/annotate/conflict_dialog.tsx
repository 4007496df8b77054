import { useState } from "react";
import { Dialog } from "../../parts/dialog";
import { words } from "./label_keys";
import type { Bench } from "./use_bench";

/** Somebody else has worked on the same task: who, what, and the two ways on. */
export function ConflictDialog({ bench }: { bench: Bench }) {
  const { conflict, waiting } = bench.work;
  const [error, setError] = useState<string | null>(null);
  const [isClosed, setClosed] = useState<string | null>(null);
  const key = conflict ? `${conflict.version}` : null;
  if (!conflict || key === isClosed)
    return conflict ? <ConflictBar onOpen={() => setClosed(null)} /> : null;
  const decide = (choice: "mine" | "theirs") =>
    bench.book.decide(choice).catch((reason: Error) => setError(reason.message));
  const counts = new Map<string, number>();
  for (const { action } of conflict.since) counts.set(action, (counts.get(action) ?? 0) + 1);
  return (
    <Dialog
      title={`${conflict.who.join(" and ")} changed this task too`}
      onClose={() => setClosed(key)}
    >
      <p>
        Since you loaded it, {conflict.who.join(" and ")} made {conflict.since.length}{" "}
        {conflict.since.length === 1 ? "edit" : "edits"} (
        {[...counts]
          .map(([action, count]) => `${words(action)} ${count > 1 ? `${count} times` : "once"}`)
          .join(", ")}
        ). You have {waiting} that {waiting === 1 ? "is" : "are"} not saved yet. Nothing of either
        is lost until you choose.
      </p>
      <div className="conflict-choices">
        <button type="button" className="primary" onClick={() => void decide("mine")}>
          Keep theirs and put mine on top
        </button>
        <button type="button" onClick={() => void decide("theirs")}>
          Take theirs and let my {waiting} go
        </button>
      </div>
      {error && <p role="alert">{error}</p>}
    </Dialog>
  );
}

function ConflictBar({ onOpen }: { onOpen: () => void }) {
  return (
    <p className="bench-bar" role="alert">
      Somebody else changed this task; your edits wait for your choice.
      <button type="button" onClick={onOpen}>
        Choose
      </button>
    </p>
  );
}
