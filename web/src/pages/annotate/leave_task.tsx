import { type FormEvent, useState } from "react";
import { returnTask, skipTask } from "../../api/annotation";
import { takeTask } from "../../api/labels";
import { Dialog } from "../../parts/dialog";
import { go } from "../../parts/router";
import { useShortcuts } from "../../parts/shortcuts";
import type { Bench } from "./use_bench";

/** Away from a task that is not done: later, or for others; then the next one. */
export function LeaveTask({
  bench,
  onSaid,
}: {
  bench: Bench;
  onSaid: (said: string | null) => void;
}) {
  const { task, book, canEdit } = bench;
  const [isReturning, setReturning] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const mayReturn = task.kind === "annotate" && task.state !== "returned";
  const leave = async (away: () => Promise<void>) => {
    setBusy(true);
    try {
      await book.flush();
      if (book.state.waiting) {
        onSaid(
          "Some edits are not saved yet. The task can be left as soon as the server has them.",
        );
        return;
      }
      await away();
      const next = await takeTask(task.queue);
      if (!next) go("/labels");
      else if (next.id === task.id) onSaid("There is no other task for you in this queue now.");
      else go(`/annotate/${encodeURIComponent(next.id)}`);
    } catch (error) {
      onSaid(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  const skip = () => void leave(() => skipTask(task.id));
  useShortcuts(
    "Task",
    [
      { keys: ["Alt+s"], does: "Skip this task: it comes again last", run: skip },
      {
        keys: ["Alt+r"],
        does: "Return this task: others get it",
        run: () => mayReturn && setReturning(true),
      },
    ],
    canEdit,
  );
  if (!canEdit) return null;
  return (
    <>
      <button
        type="button"
        className="quiet"
        title="It comes again after all the others (Alt+S)"
        disabled={isBusy}
        onClick={skip}
      >
        Skip
      </button>
      {mayReturn && (
        <button
          type="button"
          className="quiet"
          title="Others get it, you do not get it again (Alt+R)"
          disabled={isBusy}
          onClick={() => setReturning(true)}
        >
          Return
        </button>
      )}
      {isReturning && (
        <WhyReturned
          edits={bench.work.history.done.length}
          onClose={() => setReturning(false)}
          onReturn={(why) => {
            setReturning(false);
            void leave(() => returnTask(task.id, why));
          }}
        />
      )}
    </>
  );
}

function WhyReturned({
  edits,
  onClose,
  onReturn,
}: {
  edits: number;
  onClose: () => void;
  onReturn: (why: string) => void;
}) {
  const [why, setWhy] = useState("");
  const send = (event: FormEvent) => {
    event.preventDefault();
    onReturn(why.trim());
  };
  return (
    <Dialog title="Return this task" onClose={onClose}>
      <form className="leave-form" onSubmit={send}>
        <label>
          Why (a lead reads it)
          <input
            autoFocus
            maxLength={2000}
            value={why}
            onChange={(event) => setWhy(event.target.value)}
            placeholder="I cannot tell which hand holds the cup."
          />
        </label>
        <p className="muted">
          Somebody else gets it{edits > 0 && ", and begins anew: what you did in it does not count"}
          .
        </p>
        <div className="conflict-choices">
          <button type="submit" className="primary">
            Return <kbd aria-hidden>Enter</kbd>
          </button>
          <button type="button" onClick={onClose}>
            Cancel <kbd aria-hidden>Esc</kbd>
          </button>
        </div>
      </form>
    </Dialog>
  );
}
