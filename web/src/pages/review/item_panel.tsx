import type {
  DecidedItem,
  EpisodeDetail,
  EpisodeFinding,
  ReviewItem,
  ReviewTurn,
} from "../../api/schema";
import { Link } from "../../parts/link";
import { type Clock, clockText } from "../../player/clock";
import "./item_panel.css";
import { EpisodeName } from "../../parts/episode_name";
import { severityText } from "../../parts/severity";
import { checkTitle } from "../../parts/words";
import { becauseOf, lotChip, plural, sentence } from "./wording";

export interface ItemPanelProps {
  turn: ReviewTurn;
  item: ReviewItem;
  episode: EpisodeDetail;
  clock: Clock;
  last: DecidedItem | null;
  undo: () => void;
}

/** Why this episode is here, what was found in it, and what the review says so far. */
export function ItemPanel({ turn, item, episode, clock, last, undo }: ItemPanelProps) {
  const because = becauseOf(item);
  const { row } = episode;
  return (
    <div className="item-panel">
      {last && <LastDecision last={last} undo={undo} />}
      <section>
        <h2>Why this one</h2>
        <p>
          <b>{because.title}</b>
          {because.episode && (
            <>
              {" "}
              <Link href={`/episodes/${because.episode}`} target="_blank">
                <EpisodeName id={because.episode} />
              </Link>
            </>
          )}
        </p>
        <p className="muted">{because.detail}</p>
        <p className="muted">
          {[
            row.operator && `operator ${row.operator}`,
            row.station && `station ${row.station}`,
            row.session && `session ${row.session}`,
          ]
            .filter(Boolean)
            .join(" · ")}{" "}
          ·{" "}
          <Link href={`/episodes/${episode.id}`} target="_blank">
            Open episode
          </Link>
        </p>
      </section>
      <section>
        <h2>Findings</h2>
        {episode.findings.length ? (
          <ul className="item-findings">
            {episode.findings.map((finding) => (
              <FindingLine key={finding.number} finding={finding} clock={clock} />
            ))}
          </ul>
        ) : (
          <p className="muted">The checks found nothing. Look for what they cannot see.</p>
        )}
      </section>
      <section>
        <h2>What it says of {plural(turn.review.plan.lot, "episode")}</h2>
        <p>
          <span className={`chip ${lotChip(turn.review.lot.state)}`}>{turn.review.lot.state}</span>
        </p>
        <p>{sentence(turn.review.lot.words)}</p>
        <p className="muted">Plan: {turn.review.plan.words}.</p>
        {turn.review.neighbours > 0 && (
          <p className="muted">
            {plural(turn.review.neighbours, "neighbour")} added; they do not count for the batch.
          </p>
        )}
        {turn.others > 0 && (
          <p className="muted">{plural(turn.others, "episode")} with other reviewers just now.</p>
        )}
      </section>
      {turn.recent.length > 0 && <Recent items={turn.recent} />}
    </div>
  );
}

function LastDecision({ last, undo }: { last: DecidedItem; undo: () => void }) {
  const { item, pulled, note } = last;
  if (!item.decision) return null;
  return (
    <section className="item-last" role="status">
      <p>
        <b>{item.decision === "accept" ? "Accepted" : "Rejected"}</b>{" "}
        <EpisodeName id={item.episode} />
        {item.why && `: ${item.why}`}. Now {last.state}.{" "}
        <button type="button" className="quiet" onClick={undo}>
          Undo
        </button>
      </p>
      {pulled.length > 0 && <p>{plural(pulled.length, "neighbour")} added, next in the queue.</p>}
      {note && <p>Note: {note}.</p>}
    </section>
  );
}

function FindingLine({ finding, clock }: { finding: EpisodeFinding; clock: Clock }) {
  const moment = finding.spans[0]?.start_ns;
  const show = () => {
    if (moment === undefined) return;
    clock.pause();
    clock.seek(moment);
  };
  return (
    <li>
      <button
        type="button"
        className="quiet item-finding"
        onClick={show}
        disabled={moment === undefined}
      >
        <span className={`chip ${finding.severity}`}>{severityText(finding.severity)}</span>
        <span className="item-message" title={finding.message}>
          <b>{checkTitle(finding.check)}</b> {finding.message}
        </span>
        {moment !== undefined && <time>{clockText(moment)}</time>}
      </button>
    </li>
  );
}

function Recent({ items }: { items: ReviewItem[] }) {
  return (
    <section>
      <h2>Decided by you</h2>
      <ol className="item-recent">
        {items.map((item) => (
          <li key={item.episode}>
            <span className={`chip ${item.decision === "accept" ? "accepted" : "failed"}`}>
              {item.decision}ed
            </span>
            <Link href={`/episodes/${item.episode}`} target="_blank" className="mono">
              <EpisodeName id={item.episode} />
            </Link>
            <span className="muted">{item.why}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
