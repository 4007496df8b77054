import { useEffect, useMemo, useState } from "react";
import { getEpisode } from "../../api/episode";
import { acceptTask, getTaskPreview, getTasks, returnTask } from "../../api/labels";
import type { EpisodeDetail, TaskPreview } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { Link } from "../../parts/link";
import { Notice, Waiting } from "../../parts/notice";
import { go } from "../../parts/router";
import { useShortcuts } from "../../parts/shortcuts";
import { Cameras } from "../../player/cameras";
import { Clock } from "../../player/clock";
import { Timeline } from "../../player/timeline";
import { Transport } from "../../player/transport";
import { firstPicture } from "../review/wording";
import { ReturnDialog } from "./return_dialog";
import "./submitted_task.css";
import { EpisodeName } from "../../parts/episode_name";
import { minutes, plural, spoken } from "./wording";

/** What somebody has submitted, to be played, accepted or given back; nothing here changes it. */
export function SubmittedTask({ id }: { id: string }) {
  const answer = useAnswer((signal) => getTaskPreview(id, signal), [id]);
  const episodeId = answer.value?.task.episode;
  const episode = useAnswer(
    (signal) => (episodeId ? getEpisode(episodeId, signal) : Promise.resolve(null)),
    [episodeId],
  );
  const error = answer.error ?? episode.error;
  if (error) return <Notice error={error} again={answer.again} />;
  if (!answer.value || !episode.value) return <Waiting what="Opening what was submitted" />;
  return <Open preview={answer.value} episode={episode.value} />;
}

function Open({ preview, episode }: { preview: TaskPreview; episode: EpisodeDetail }) {
  const { task } = preview;
  // The labels of the task, not those in force, lie above the texts of the recording.
  const shown = useMemo(
    () => ({ ...episode, findings: [], lanes: preview.lanes }),
    [episode, preview],
  );
  const clock = useMemo(
    () => new Clock(episode.start_ns, episode.end_ns, firstPicture(episode)),
    [episode],
  );
  useEffect(() => () => clock.close(), [clock]);
  const [isReturning, setReturning] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const isWaiting = task.state === "submitted" && !task.is_double;
  const next = () =>
    getTasks({ state: "submitted" }).then((left) => {
      const following = left.find((each) => !each.is_double && each.id !== task.id);
      go(following ? `/labels/submitted/${encodeURIComponent(following.id)}` : "/labels/submitted");
    });
  const fail = (reason: Error) => setError(reason.message);
  const accept = () => void acceptTask(task.id).then(next, fail);
  const keys = [
    { keys: ["a"], does: "Accept: these labels count", run: accept },
    { keys: ["r"], does: "Return it with a reason", run: () => setReturning(true) },
  ];
  useShortcuts("Submitted labels", keys, isWaiting && !isReturning);
  return (
    <div className="submitted">
      <header className="submitted-head">
        <Link href="/labels/submitted">← Submitted</Link>
        <h1>
          {task.episode_task ?? "episode"}{" "}
          <span className="mono muted">
            <EpisodeName id={task.episode} />
          </span>
        </h1>
        <span className="muted">
          by {task.assigned_to}, {plural(task.edits, "edit")}, {minutes(task.seconds)} ·{" "}
          {task.queue} · {task.taxonomy}
        </span>
      </header>
      <section className="submitted-views" aria-label="Views">
        <Cameras episode={shown} clock={clock} />
      </section>
      <aside className="submitted-side">
        <h2>What is said of the whole</h2>
        <p>
          {preview.outcome ? (
            <span className={`chip ${preview.outcome === "success" ? "accepted" : "failed"}`}>
              {preview.outcome}
            </span>
          ) : (
            "no outcome"
          )}
          {preview.failure_mode && ` ${spoken(preview.failure_mode)}`}
        </p>
        <ul className="submitted-said">
          {preview.instructions.map((text) => (
            <li key={text}>“{text}”</li>
          ))}
        </ul>
        {preview.complaints.length > 0 && (
          <>
            <h2>What it lacks</h2>
            <ul className="submitted-lacks">
              {preview.complaints.slice(0, 12).map((said) => (
                <li key={said}>{said}</li>
              ))}
            </ul>
          </>
        )}
        {task.is_double && <p>Two people label this episode; it is settled under Adjudication.</p>}
        {error && (
          <p className="labels-error" role="alert">
            {error}
          </p>
        )}
        {isWaiting && (
          <div className="submitted-buttons">
            <button type="button" className="primary" onClick={accept}>
              Accept <kbd aria-hidden>a</kbd>
            </button>
            <button type="button" onClick={() => setReturning(true)}>
              Return <kbd aria-hidden>r</kbd>
            </button>
          </div>
        )}
      </aside>
      <footer className="submitted-foot">
        <Timeline episode={shown} clock={clock} />
        <Transport episode={shown} clock={clock} />
      </footer>
      {isReturning && (
        <ReturnDialog
          onClose={() => setReturning(false)}
          onReturn={(why) => void returnTask(task.id, why).then(next, fail)}
        />
      )}
    </div>
  );
}
