import { useState } from "react";
import { getComments, resolveComment, sendComment } from "../../api/annotation";
import type { TaskComment } from "../../api/schema";
import { type Answer, useAnswer } from "../../api/use_answer";
import { clockText } from "../../player/clock";
import { showMoment } from "./play_around";
import { keepDraft, keptDraft } from "./text_draft";
import type { Bench } from "./use_bench";

const newOne = "new-comment";

export function useComments(task: string): Answer<TaskComment[]> {
  return useAnswer((signal) => getComments(task, signal), [task]);
}

/** Remarks at moments: questions to the lead, and their answers. */
export function Comments({ bench, comments }: { bench: Bench; comments: Answer<TaskComment[]> }) {
  const { task, clock, line } = bench;
  const [text, setText] = useState(() => keptDraft(task.id, newOne) ?? "");
  const [error, setError] = useState<string | null>(null);
  const write = (next: string) => {
    setText(next);
    keepDraft(task.id, newOne, next || null);
  };
  const send = async () => {
    if (!text.trim()) return;
    try {
      await sendComment(task.id, text.trim(), line.timeOf(line.frameOf(clock.timeNs)));
      write("");
      setError(null);
      comments.again();
    } catch (reason) {
      setError(
        `${reason instanceof Error ? reason.message : String(reason)} Your comment stays here.`,
      );
    }
  };
  const resolve = (number: number) =>
    void resolveComment(task.id, number).then(comments.again, (reason: Error) =>
      setError(reason.message),
    );
  return (
    <section className="side-part" aria-label="Comments">
      {!comments.value?.length && (
        <p className="muted side-hint">
          No comments yet. Where a rule is unclear, say so at the moment and go on: a lead answers
          here.
        </p>
      )}
      <ol className="comments">
        {comments.value?.map((each) => (
          <li key={each.number} data-resolved={each.resolved}>
            <span className="comment-head">
              <b>{each.who}</b>
              {each.time_ns !== null && (
                <button
                  type="button"
                  className="quiet num"
                  onClick={() => showMoment(clock, each.time_ns as number)}
                >
                  {clockText(each.time_ns)} · frame {line.frameOf(each.time_ns)}
                </button>
              )}
              {each.resolved ? (
                <span className="muted">dealt with</span>
              ) : (
                bench.canEdit && (
                  <button type="button" className="quiet" onClick={() => resolve(each.number)}>
                    Dealt with
                  </button>
                )
              )}
            </span>
            <p>{each.text}</p>
          </li>
        ))}
      </ol>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <textarea
          id="bench-new-comment"
          aria-label="New comment"
          placeholder="A remark at this picture"
          rows={3}
          maxLength={4000}
          value={text}
          onChange={(event) => write(event.target.value)}
        />
        <button type="submit" disabled={!text.trim()}>
          Comment at this picture
        </button>
      </form>
      {error && <p role="alert">{error}</p>}
    </section>
  );
}
