import "./score_bar.css";

/** A score from 0 to 1 as a number and a bar. */
export function ScoreBar({ score }: { score: number | null }) {
  if (score === null) return <span className="muted">–</span>;
  const share = Math.min(Math.max(score, 0), 1);
  return (
    <span className="score-bar">
      <span className="num">{score.toFixed(2)}</span>
      <span className="score-bar-track" aria-hidden>
        <span className="score-bar-fill" style={{ width: `${share * 100}%` }} />
      </span>
    </span>
  );
}
