import { getTasks } from "../../api/labels";
import type { ListedTask } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { EpisodeName } from "../../parts/episode_name";
import { Link } from "../../parts/link";
import { Notice, Waiting } from "../../parts/notice";
import { AssignChoice } from "./assign_choice";
import { minutes, plural, when } from "./wording";

/** What waits for a lead, and what is still with people. */
export function Submitted() {
  const answer = useAnswer((signal) => getTasks({ state: "submitted" }, signal), []);
  const begun = useAnswer((signal) => getTasks({ state: "working" }, signal), []);
  const returned = useAnswer((signal) => getTasks({ state: "returned" }, signal), []);
  if (answer.error) return <Notice error={answer.error} again={answer.again} />;
  if (!answer.value) return <Waiting what="Loading what was submitted" />;
  const alone = answer.value.filter((task) => !task.is_double);
  const pairs = answer.value.filter((task) => task.is_double);
  const inWork = [...(returned.value ?? []), ...(begun.value ?? [])];
  const again = () => {
    begun.again();
    returned.again();
  };
  return (
    <>
      <header className="labels-head">
        <div>
          <h1>Submitted</h1>
          <p>
            Look at what was labelled; accept it, and it counts. Return it with a reason when it
            does not follow the rules.
          </p>
        </div>
        {alone[0] && (
          <Link className="button" href={`/labels/submitted/${alone[0].id}`}>
            Begin with the first
          </Link>
        )}
      </header>
      {alone.length ? (
        <TaskTable tasks={alone} />
      ) : (
        <p className="labels-empty">
          Nothing waits for you. Tasks come here when annotators submit them.
        </p>
      )}
      {pairs.length > 0 && (
        <section className="labels-section">
          <h2>Labelled twice</h2>
          <p className="muted">
            {plural(pairs.length, "task")} of pairs: they count when both people agree, or when you
            have decided under <Link href="/labels/adjudication">Adjudication</Link>.
          </p>
        </section>
      )}
      {inWork.length > 0 && (
        <section className="labels-section">
          <h2>With people now</h2>
          <TaskTable tasks={inWork} again={again} />
        </section>
      )}
    </>
  );
}

function TaskTable({ tasks, again }: { tasks: ListedTask[]; again?: () => void }) {
  return (
    <div className="card labels-scroll">
      <table className="labels-table">
        <thead>
          <tr>
            <th>Episode</th>
            <th>Queue</th>
            <th>{again ? "With" : "By"}</th>
            <th>Edits</th>
            <th>Time</th>
            <th>Since</th>
            <th />
          </tr>
        </thead>
        <tbody>
          {tasks.map((task) => (
            <tr key={task.id}>
              <td>
                <b>{task.episode_task ?? "episode"}</b>{" "}
                <span className="mono muted">
                  <EpisodeName id={task.episode} />
                </span>
                {task.comments > 0 && (
                  <span className="chip">{plural(task.comments, "comment")}</span>
                )}
              </td>
              <td>{task.queue}</td>
              <td>{again ? <AssignChoice task={task} again={again} /> : task.assigned_to}</td>
              <td className="num">{task.edits}</td>
              <td className="num">{minutes(task.seconds)}</td>
              <td className="num">{when(task.changed_at)}</td>
              <td>
                {again ? (
                  task.state === "returned" && (
                    <span className="chip quarantined" title={task.why ?? ""}>
                      returned
                    </span>
                  )
                ) : (
                  <Link
                    className="button"
                    href={`/labels/submitted/${encodeURIComponent(task.id)}`}
                  >
                    Look
                  </Link>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
