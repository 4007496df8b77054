import type { ReviewFacts } from "../../api/schema";
import "./progress_bar.css";

/** How much of a review is decided, the rejected part in its own colour. */
export function ProgressBar({ review }: { review: ReviewFacts }) {
  const { items, accepted, rejected } = review;
  const share = (count: number) => `${items ? (100 * count) / items : 0}%`;
  return (
    <div
      className="review-progress"
      role="progressbar"
      aria-label={`Progress of ${review.name}`}
      aria-valuemin={0}
      aria-valuemax={items}
      aria-valuenow={accepted + rejected}
      aria-valuetext={`${accepted + rejected} of ${items} decided`}
    >
      <span className="review-progress-good" style={{ width: share(accepted) }} />
      <span className="review-progress-bad" style={{ width: share(rejected) }} />
    </div>
  );
}
