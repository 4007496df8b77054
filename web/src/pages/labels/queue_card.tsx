import type { QueueBuild, QueueFacts } from "../../api/schema";
import { Link } from "../../parts/link";
import { StageBar } from "./stage_bar";
import { minutes, plural } from "./wording";

/** One queue: what it holds, how far it is, what it took. */
export function QueueCard({ queue }: { queue: QueueFacts }) {
  const finished = (queue.counts.done ?? 0) + (queue.counts.submitted ?? 0);
  return (
    <li className="card queue-card">
      <div className="queue-card-what">
        <h2>
          {queue.name}
          {queue.kind === "qualify" && <span className="chip">qualification</span>}
          {queue.needs_qualification && <span className="chip">qualified people only</span>}
        </h2>
        <p className="muted">
          {plural(queue.episodes, "episode")},{" "}
          {plural(queue.pairs, "of them twice", "of them twice")}, {queue.without_proposal} without
          a proposal · {queue.taxonomy}
        </p>
        <p className="muted">
          {queue.query !== null && <code>{queue.query || "all episodes"}</code>} {queue.created_by},{" "}
          {queue.created_at.slice(0, 10)}
        </p>
      </div>
      <div>
        {queue.making && (queue.making.is_running || queue.making.made < queue.making.wanted) && (
          <MakingBar making={queue.making} />
        )}
        <StageBar name={queue.name} counts={queue.counts} />
      </div>
      <div className="queue-card-side">
        <p className="muted num">
          {queue.seconds > 0 ? `${minutes(queue.seconds)} at work` : "no time spent yet"}
          {finished > 0 && queue.seconds > 0 && (
            <>
              <br />
              {minutes(queue.seconds / finished)} per task
            </>
          )}
        </p>
        {(queue.counts.submitted ?? 0) > 0 && (
          <Link className="button" href="/labels/submitted">
            {queue.counts.submitted} submitted
          </Link>
        )}
      </div>
    </li>
  );
}

/** Proposals are made on the server, and go on when this page is closed. */
function MakingBar({ making }: { making: QueueBuild }) {
  const share = making.wanted ? (100 * making.made) / making.wanted : 0;
  return (
    <div className="queue-making" role="status">
      <div
        className="queue-making-bar"
        role="progressbar"
        aria-label="Proposals made"
        aria-valuemin={0}
        aria-valuemax={making.wanted}
        aria-valuenow={making.made}
      >
        <span style={{ width: `${share}%` }} />
      </div>
      <p className="num">
        {making.error ??
          `Proposing boundaries: ${making.made} of ${plural(making.wanted, "episode")}. Tasks can be taken already.`}
      </p>
    </div>
  );
}
