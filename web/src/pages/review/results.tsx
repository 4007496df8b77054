import { useEffect, useState } from "react";
import { closeReview, getReview } from "../../api/review";
import type { ReviewFacts, ReviewItem } from "../../api/schema";
import { useMay } from "../../api/session";
import { useAnswer } from "../../api/use_answer";
import { Link } from "../../parts/link";
import { Notice, Waiting } from "../../parts/notice";
import { useShortcuts } from "../../parts/shortcuts";
import { ProgressBar } from "./progress_bar";
import "./results.css";
import { EpisodeName } from "../../parts/episode_name";
import { becauseOf, minutes, plural, sentence } from "./wording";

export interface ResultsProps {
  name: string;
  /** Episodes that others look at just now. */
  others: number;
  onChange: (() => void) | null;
  onUndo?: () => void;
}

const LOOK_AGAIN_MS = 10_000;

/** What a review came to: the verdict on the lot, and every decision. */
export function Results({ name, others, onChange, onUndo }: ResultsProps) {
  const answer = useAnswer((signal) => getReview(name, signal), [name]);
  useShortcuts(
    "Review",
    [{ keys: ["u"], does: "Take the last decision back", run: () => onUndo?.() }],
    onUndo !== undefined,
  );
  useEffect(() => {
    if (!others || !onChange) return;
    const timer = setTimeout(onChange, LOOK_AGAIN_MS);
    return () => clearTimeout(timer);
  });
  if (answer.error) return <Notice error={answer.error} again={answer.again} />;
  if (!answer.value) return <Waiting what="Loading the review" />;
  const { review, items } = answer.value;
  const left = review.items - review.decided;
  return (
    <div className="results">
      <p>
        <Link href="/review">All reviews</Link>
      </p>
      <h1>
        {review.name}: the batch is{" "}
        {review.lot.state === "undecided" ? "not decided yet" : review.lot.state}
      </h1>
      <ProgressBar review={review} />
      <p className="results-words">{sentence(review.lot.words)}</p>
      <p className="muted">{sentence(review.plan.words)}</p>
      <p className="muted num">
        {plural(review.decided, "episode")} decided in {minutes(review.seconds)}, {review.rejected}{" "}
        rejected; {review.neighbours} added as neighbours, which do not count for the batch.
        {review.unseen > 0 && ` ${review.unseen} accepted unseen.`}
      </p>
      {left > 0 && onChange && (
        <p role="status">
          {others > 0
            ? `${plural(others, "episode")} with other reviewers just now; what they leave comes to you.`
            : `${left} still open.`}
        </p>
      )}
      <CloseButton
        review={review}
        left={left}
        onClosed={() => {
          onChange?.();
          answer.again();
        }}
      />
      <Decisions items={items} seenShare={review.seen_share} />
    </div>
  );
}

function CloseButton({
  review,
  left,
  onClosed,
}: {
  review: ReviewFacts;
  left: number;
  onClosed: () => void;
}) {
  const mayJudge = useMay("judge");
  const [error, setError] = useState<Error | null>(null);
  if (review.closed_at) return <p className="muted">Closed on {review.closed_at.slice(0, 10)}.</p>;
  if (!mayJudge) return left ? null : <p className="muted">A lead can close this review now.</p>;
  return (
    <>
      <p>
        <button
          type="button"
          className={left ? "" : "primary"}
          onClick={() => closeReview(review.name).then(onClosed, setError)}
        >
          Close this review
        </button>{" "}
        <span className="muted">
          {left
            ? `${plural(left, "episode")} would stay without a decision.`
            : "Everything is decided."}
        </span>
      </p>
      {error && <p role="alert">{error.message}</p>}
    </>
  );
}

function Decisions({ items, seenShare }: { items: ReviewItem[]; seenShare: number }) {
  const decided = items.filter(({ decision }) => decision).reverse();
  if (!decided.length) return <p className="muted">Nothing is decided yet.</p>;
  return (
    <div className="results-scroll">
      <table className="results-table">
        <thead>
          <tr>
            <th scope="col">Episode</th>
            <th scope="col">Decision</th>
            <th scope="col">Shown</th>
            <th scope="col">Why rejected</th>
            <th scope="col">By</th>
            <th scope="col">Why looked at</th>
          </tr>
        </thead>
        <tbody>
          {decided.map((item) => {
            const because = becauseOf(item);
            return (
              <tr key={item.episode}>
                <td>
                  <Link href={`/episodes/${item.episode}`} className="mono">
                    <EpisodeName id={item.episode} />
                  </Link>
                </td>
                <td>
                  <span className={`chip ${item.decision === "accept" ? "accepted" : "failed"}`}>
                    {item.decision}ed
                  </span>
                </td>
                <td className="num">
                  {item.shown === null ? (
                    <span className="muted">not known</span>
                  ) : (
                    `${Math.round(100 * item.shown)} %`
                  )}
                  {item.decision === "accept" && item.shown !== null && item.shown < seenShare && (
                    <>
                      {" "}
                      <span className="chip quarantined">unseen</span>
                    </>
                  )}
                </td>
                <td>{item.why}</td>
                <td>{item.decided_by}</td>
                <td className="muted">
                  {because.title}
                  {because.episode ? (
                    <>
                      {" "}
                      <EpisodeName id={because.episode} />
                    </>
                  ) : (
                    because.detail && `: ${because.detail}`
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
