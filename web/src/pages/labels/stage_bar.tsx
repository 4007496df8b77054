import { STAGES } from "../../api/labels";
import "./stage_bar.css";

const said = {
  done: "accepted",
  submitted: "with the lead",
  working: "begun",
  returned: "returned",
  open: "not begun",
};
const order = ["done", "submitted", "working", "returned", "open"] as const;

/** How far a queue is, from accepted on the left to not begun on the right. */
export function StageBar({ name, counts }: { name: string; counts: Record<string, number> }) {
  const total = STAGES.reduce((sum, stage) => sum + (counts[stage] ?? 0), 0);
  const shown = order.filter((stage) => counts[stage]);
  const words = shown.map((stage) => `${counts[stage]} ${said[stage]}`).join(", ");
  return (
    <div className="stage">
      <div
        className="stage-bar"
        role="progressbar"
        aria-label={`Progress of ${name}`}
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={counts.done ?? 0}
        aria-valuetext={words}
      >
        {shown.map((stage) => (
          <span
            key={stage}
            className={`stage-${stage}`}
            style={{ width: `${(100 * (counts[stage] ?? 0)) / total}%` }}
          />
        ))}
      </div>
      <p className="stage-words num">
        {shown.map((stage) => (
          <span key={stage}>
            <i className={`stage-${stage}`} aria-hidden />
            {counts[stage]} {said[stage]}
          </span>
        ))}
        {!shown.length && <span className="muted">no tasks</span>}
      </p>
    </div>
  );
}
