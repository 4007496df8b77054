import type { ListedTask } from "../../api/schema";
import { EpisodeName } from "../../parts/episode_name";
import { Link } from "../../parts/link";
import { minutes, plural, stateWords, when } from "./wording";

const chips: Record<string, string> = { returned: "quarantined", done: "accepted", submitted: "" };

/** One task of mine, with why it came back. */
export function TaskRow({ task }: { task: ListedTask }) {
  const isMine = task.state === "working" || task.state === "returned" || task.state === "open";
  return (
    <li className="task-row">
      <span>
        <b>{task.episode_task ?? "episode"}</b>{" "}
        <span className="mono muted">
          <EpisodeName id={task.episode} />
        </span>{" "}
        <span className="muted">
          {task.queue} · {when(task.changed_at)}
          {task.seconds > 0 && ` · ${minutes(task.seconds)}`}
          {task.comments > 0 && ` · ${plural(task.comments, "comment")}`}
        </span>
      </span>
      <span className={`chip ${chips[task.state] ?? ""}`}>{stateWords(task)}</span>
      <Link className="button" href={`/annotate/${encodeURIComponent(task.id)}`}>
        {isMine ? "Open" : "Look"}
      </Link>
      {task.state === "returned" && task.why && <p className="task-row-why">{task.why}</p>}
    </li>
  );
}
