import type { GateFacts } from "../../api/schema";
import "./gates_view.css";
import { figure, lowestKappa, plural, share, spoken } from "./wording";

interface Gate {
  title: string;
  value: string;
  says: string;
  isPassed: boolean | null;
}

/** The three gates of agreement, each with what it asks for. */
export function GatesView({ gates }: { gates: GateFacts }) {
  return (
    <ul className="gates" aria-label="Agreement">
      {gatesOf(gates).map((gate) => (
        <li
          key={gate.title}
          className={gate.isPassed === null ? "" : gate.isPassed ? "gate-passed" : "gate-missed"}
        >
          <span className="gate-title">{gate.title}</span>
          <b className="num">{gate.value}</b>
          <span className="muted">{gate.says}</span>
        </li>
      ))}
    </ul>
  );
}

function gatesOf(gates: GateFacts): Gate[] {
  const kappa = lowestKappa(gates);
  const [low] = gates.hit_rate_bounds;
  return [
    {
      title: "Same order of labels",
      value: share(gates.edit_score),
      says: "edit score, 90 % or more",
      isPassed: gates.edit_score === null ? null : gates.edit_score >= 0.9,
    },
    {
      title: "Label agreement",
      value: figure(kappa?.value ?? null),
      says: kappa ? `kappa of ${spoken(kappa.name)}, 0.80 or more` : "kappa, 0.80 or more",
      isPassed: kappa ? kappa.value >= 0.8 : null,
    },
    {
      title: "Boundary error",
      value:
        gates.mean_difference_frames === null
          ? "–"
          : `± ${gates.mean_difference_frames.toFixed(1)}`,
      says: `frames, 3 or fewer · ${share(gates.hit_rate)} of ${plural(gates.boundaries, "boundary", "boundaries")} within 2 (surely ${share(low)})`,
      isPassed: gates.mean_difference_frames === null ? null : gates.mean_difference_frames <= 3,
    },
  ];
}
