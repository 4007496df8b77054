import { getComments, resolveComment } from "../../api/labels";
import { useAnswer } from "../../api/use_answer";
import { EpisodeName } from "../../parts/episode_name";
import { Link } from "../../parts/link";
import { Notice, Waiting } from "../../parts/notice";
import { clockText } from "../../player/clock";
import { when } from "./wording";

/** What annotators asked and nobody has answered yet. */
export function Comments() {
  const answer = useAnswer(getComments, []);
  if (answer.error) return <Notice error={answer.error} again={answer.again} />;
  if (!answer.value) return <Waiting what="Loading the comments" />;
  const resolve = (number: number) => void resolveComment(number).then(answer.again, answer.again);
  return (
    <>
      <header className="labels-head">
        <div>
          <h1>Comments</h1>
          <p>
            Questions at a moment of an episode. One that is asked twice usually means that a rule
            should be clearer.
          </p>
        </div>
      </header>
      {!answer.value.length && (
        <p className="labels-empty">
          No open question. Annotators ask with the key c on the workbench.
        </p>
      )}
      <ul className="labels-list">
        {answer.value.map((comment) => (
          <li key={comment.number} className="card comment">
            <div>
              <p className="comment-text">{comment.text}</p>
              <p className="muted">
                {comment.who}, {when(comment.at)} ·{" "}
                <Link
                  href={`/episodes/${comment.episode}${comment.time_ns === null ? "" : `?t=${comment.time_ns}`}`}
                >
                  <EpisodeName id={comment.episode} />
                  {comment.time_ns !== null && ` at ${clockText(comment.time_ns)}`}
                </Link>
                {comment.task && (
                  <>
                    {" "}
                    · <Link href={`/annotate/${encodeURIComponent(comment.task)}`}>the task</Link>
                  </>
                )}
              </p>
            </div>
            <button type="button" onClick={() => resolve(comment.number)}>
              Answered
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
