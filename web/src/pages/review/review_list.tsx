import { useState } from "react";
import { getReviews } from "../../api/review";
import type { ReviewFacts } from "../../api/schema";
import { useMay } from "../../api/session";
import { useAnswer } from "../../api/use_answer";
import { Link } from "../../parts/link";
import { Notice, Waiting } from "../../parts/notice";
import { go } from "../../parts/router";
import { useShortcuts } from "../../parts/shortcuts";
import { CreateForm } from "./create_form";
import { ProgressBar } from "./progress_bar";
import "./review_list.css";
import { lotChip, minutes, plural } from "./wording";

/** All reviews with what they say of their lots, and a way to begin one. */
export function ReviewList() {
  const answer = useAnswer(getReviews, []);
  const mayJudge = useMay("judge");
  const [isMaking, setMaking] = useState(() =>
    new URL(window.location.href).searchParams.has("query"),
  );
  useShortcuts(
    "Reviews",
    [{ keys: ["n"], does: "New review", run: () => setMaking(true) }],
    mayJudge && !isMaking,
  );
  if (answer.error) return <Notice error={answer.error} again={answer.again} />;
  if (!answer.value) return <Waiting what="Loading the reviews" />;
  const isFirst = answer.value.length === 0;
  return (
    <div className="review-list">
      <header className="review-list-head">
        <div>
          <h1>Review</h1>
          <p className="muted">
            People look at a sample of the episodes. How many of it may be bad, and what that proves
            of all of them, is known before they begin.
          </p>
        </div>
        {mayJudge && !isMaking && !isFirst && (
          <button type="button" className="primary" onClick={() => setMaking(true)}>
            New review <kbd aria-hidden>n</kbd>
          </button>
        )}
      </header>
      {mayJudge && (isMaking || isFirst) && (
        <CreateForm
          onMade={(name) => go(`/review/${name}`)}
          onCancel={isFirst ? null : () => setMaking(false)}
        />
      )}
      {isFirst && !mayJudge && (
        <p className="waiting">There is no review yet. A lead or an admin can make one here.</p>
      )}
      <ul className="review-list-all">
        {answer.value.map((review) => (
          <ReviewCard key={review.name} review={review} />
        ))}
      </ul>
    </div>
  );
}

function ReviewCard({ review }: { review: ReviewFacts }) {
  const left = review.items - review.decided;
  const mayReview = useMay("annotate") && !review.closed_at;
  return (
    <li className="card review-card">
      <div className="review-card-what">
        <h2>
          <Link href={`/review/${review.name}`}>{review.name}</Link>
          {review.closed_at && <span className="chip">closed</span>}
        </h2>
        <p className="muted">
          <code>{review.condition || "accepted and quarantined episodes"}</code> ·{" "}
          {review.created_by}, <time>{review.created_at.slice(0, 10)}</time>
        </p>
      </div>
      <div>
        <ProgressBar review={review} />
        <p className="muted num">
          {review.decided} of {review.items} decided, {review.rejected} rejected
          {review.neighbours > 0 && `, ${plural(review.neighbours, "neighbour")} added`}
          {review.seconds > 0 && ` · ${minutes(review.seconds)}`}
        </p>
      </div>
      <div>
        <span className={`chip ${lotChip(review.lot.state)}`}>batch {review.lot.state}</span>
        <p className="muted">{review.lot.decided ? review.lot.words : review.plan.words}</p>
      </div>
      <Link className="button" href={`/review/${review.name}`}>
        {mayReview && left > 0 ? (review.decided ? "Go on" : "Begin") : "Results"}
      </Link>
    </li>
  );
}
