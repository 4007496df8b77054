import { nameOf } from "../../api/names";
import { Link } from "../../parts/link";
import { LeaveTask } from "./leave_task";
import { SavedNote } from "./saved_note";
import type { Bench } from "./use_bench";
import { useTimeSpent } from "./use_time_spent";

export interface BenchHeadProps {
  bench: Bench;
  isHandingIn: boolean;
  onHandIn: () => void;
  onSaid: (said: string | null) => void;
}

/** Which task it is, whether it is saved, how long it took, and the way to hand it in. */
export function BenchHead({ bench, isHandingIn, onHandIn, onSaid }: BenchHeadProps) {
  const { task, episode, work, canEdit } = bench;
  const { seconds, isIdle } = useTimeSpent(task.id, task.seconds, canEdit);
  return (
    <header className="bench-head">
      <h1>
        {episode.row.task ?? "Episode"}{" "}
        <Link
          className="bench-file"
          href={`/episodes/${encodeURIComponent(episode.id)}`}
          title="Open the episode with all its streams"
        >
          {nameOf(episode.row)}
        </Link>
      </h1>
      <span className="chip" title={`queue ${task.queue}`}>
        {task.kind} · {task.state === "open" && work.history.done.length ? "working" : task.state}
      </span>
      {task.is_double && (
        <span
          className="chip"
          title="Two people label this episode and do not see each other's work. Annotators are not told."
        >
          double
        </span>
      )}
      <SavedNote bench={bench} />
      <span className="bench-tools">
        <span
          className="num muted"
          title={
            isIdle
              ? "The watch stands still: nobody has done anything for a minute."
              : "Time at work on this task"
          }
        >
          {isIdle ? "paused " : ""}
          {Math.floor(seconds / 60)}:{String(Math.floor(seconds % 60)).padStart(2, "0")}
        </span>
        <button
          type="button"
          className="quiet"
          title="Undo (U)"
          disabled={!canEdit || !work.history.done.length}
          onClick={() => bench.book.undo()}
        >
          Undo
        </button>
        <button
          type="button"
          className="quiet"
          title="Do again (Shift+U)"
          disabled={!canEdit || !work.history.undone.length}
          onClick={() => bench.book.redo()}
        >
          Redo
        </button>
        <LeaveTask bench={bench} onSaid={onSaid} />
        <button
          type="button"
          className="primary"
          title="Ctrl+Enter"
          disabled={!canEdit || isHandingIn}
          onClick={onHandIn}
        >
          Submit
        </button>
      </span>
    </header>
  );
}
