import { getReviewsOf } from "../../api/review";
import { useAnswer } from "../../api/use_answer";
import { Link } from "../../parts/link";

/** Whether people have looked at an episode, and what they said; nothing while nobody has. */
export function ReviewedLine({ episode }: { episode: string }) {
  const answer = useAnswer((signal) => getReviewsOf(episode, signal), [episode]);
  const items = answer.value ?? [];
  if (!items.length) return null;
  return (
    <ul aria-label="Reviews of this episode">
      {items.map((item) => (
        <li key={item.review}>
          {item.decision ? (
            <>
              <span className={`chip ${item.decision === "accept" ? "accepted" : "failed"}`}>
                {item.decision}ed
              </span>{" "}
              by {item.decided_by}
              {item.why && `: ${item.why}`},{" "}
            </>
          ) : (
            "waits for a reviewer in "
          )}
          <Link href={`/review/${encodeURIComponent(item.review)}`}>{item.review}</Link>
        </li>
      ))}
    </ul>
  );
}
