import { useEffect, useRef, useState } from "react";
import { takeTask } from "../../api/labels";
import { Dialog } from "../../parts/dialog";
import { go } from "../../parts/router";
import type { Bench } from "./use_bench";

/** After a task: the next one is a key away, and nobody is given one without asking. */
export function HandedIn({ bench }: { bench: Bench }) {
  const [said, setSaid] = useState<string | null>(null);
  const first = useRef<HTMLButtonElement>(null);
  // A dialog gives the focus to its way out; here the way on is what Enter means.
  useEffect(() => first.current?.focus(), []);
  const next = async () => {
    try {
      const found = await takeTask(bench.task.queue);
      if (found) go(`/annotate/${encodeURIComponent(found.id)}`);
      else setSaid("The queue is empty: there is no other task for you now.");
    } catch (error) {
      setSaid(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <Dialog title="Submitted" onClose={() => go("/labels")}>
      <p>
        Everything you said is saved. If a lead has a question, the task comes back to you with a
        reason.
      </p>
      <div className="conflict-choices">
        <button type="button" ref={first} className="primary" onClick={() => void next()}>
          Next task of {bench.task.queue} <kbd>Enter</kbd>
        </button>
        <button type="button" onClick={() => go("/labels")}>
          To the queues
        </button>
      </div>
      {said && <p role="status">{said}</p>}
    </Dialog>
  );
}
