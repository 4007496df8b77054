import { useDeferredValue, useState } from "react";
import { getPeers } from "../../api/comparison";
import { nameOf } from "../../api/names";
import type { EpisodeDetail, PeerEpisode } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { Link } from "../../parts/link";
import { Notice, VerdictChip } from "../../parts/notice";
import { dateText } from "../episode/wording";
import "./chooser.css";

/** The second episode: one of the same task, or one that the words find. */
export function Chooser({ episode }: { episode: EpisodeDetail }) {
  const [words, setWords] = useState("");
  const asked = useDeferredValue(words);
  const { value, error, again } = useAnswer(
    (signal) => getPeers(episode.id, asked, signal),
    [episode.id, asked],
  );
  const own = `/episodes/${encodeURIComponent(episode.id)}`;
  return (
    <div className="chooser">
      <p>
        <Link href={own}>
          ‹ {nameOf(episode.row)} {episode.row.file}
        </Link>
      </p>
      <h1>Compare with which episode?</h1>
      <label>
        Name, operator or id{" "}
        <input
          type="search"
          value={words}
          // biome-ignore lint/a11y/noAutofocus: the page has nothing else to do
          autoFocus
          maxLength={200}
          placeholder="of the same task"
          onChange={(event) => setWords(event.target.value)}
        />
      </label>
      {error && <Notice error={error} again={again} />}
      {value?.length === 0 && (
        <p className="muted">
          {words
            ? "No episode is called so. Try part of its file's name."
            : "No other episode has this task. Search for one above."}
        </p>
      )}
      <ul>
        {value?.map((peer) => (
          <li key={peer.id}>
            <Choice a={episode.id} peer={peer} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function Choice({ a, peer }: { a: string; peer: PeerEpisode }) {
  return (
    <Link
      className="chooser-choice"
      href={`/compare?a=${encodeURIComponent(a)}&b=${encodeURIComponent(peer.id)}`}
    >
      <b title={peer.file}>{nameOf(peer)}</b>
      <VerdictChip verdict={peer.verdict} />
      <span className="muted">
        {[peer.task, peer.operator, dateText(peer.recorded_ns)].filter(Boolean).join(" · ")}
      </span>
      <span className="num">{peer.score === null ? "–" : peer.score.toFixed(2)}</span>
    </Link>
  );
}
