import { useState } from "react";
import type { JointError } from "../api/schema";
import { clockText } from "../player/clock";
import { shortName } from "./column_groups";
import { valueText } from "./scale";

const SHOWN = 8;

export interface ErrorBarsProps {
  errors: JointError[];
  stream: string;
  /** Shows a joint at the moment at which it was farthest off. */
  onChoose: (error: JointError) => void;
}

/** The joints by how far they were from their commands: the worst first, what no motor does in red. */
export function ErrorBars({ errors, stream, onChoose }: ErrorBarsProps) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? errors : errors.slice(0, SHOWN);
  const most = new Map<string, number>();
  for (const { unit, largest } of errors) most.set(unit, Math.max(most.get(unit) ?? 0, largest));
  return (
    <ol className="error-bars" aria-label={`Largest errors of ${stream}`}>
      {shown.map((each) => (
        <li key={each.column}>
          <button
            type="button"
            className={`quiet${each.beyond ? " is-beyond" : ""}`}
            title={titleOf(each)}
            onClick={() => onChoose(each)}
          >
            <span className="error-bars-name">{shortName(each.name, "")}</span>
            <i aria-hidden>
              <b
                style={{
                  width: `${(100 * each.largest) / Math.max(most.get(each.unit) ?? 0, 1e-12)}%`,
                }}
              />
            </i>
            <span className="num">
              {amountText(each)}
              {each.lag_s !== null && <span className="muted"> · {lagText(each.lag_s)}</span>}
            </span>
            {each.beyond && <span className="error-bars-beyond">{each.beyond}</span>}
          </button>
        </li>
      ))}
      {errors.length > SHOWN && (
        <li>
          <button
            type="button"
            className="quiet"
            aria-expanded={isWhole}
            onClick={() => setWhole(!isWhole)}
          >
            {isWhole ? "The worst only" : `All ${errors.length} joints`}
          </button>
        </li>
      )}
    </ol>
  );
}

/** The joint group a plot begins with: that of the arm, else the limb, that was farthest off. */
export function worstGroup<T extends { name: string; columns: number[] }>(
  groups: T[],
  errors: JointError[],
): T | null {
  const limbs = groups.filter(({ name }) => name !== "all");
  const arms = limbs.filter(({ name }) => /\barm\b/.test(name));
  const choices = arms.length ? arms : limbs;
  const of = ({ columns }: T) =>
    Math.max(
      0,
      ...errors.filter((each) => columns.includes(each.column)).map((each) => each.largest),
    );
  return choices.reduce<T | null>(
    (best, each) => (of(each) > (best ? of(best) : 0) ? each : best),
    null,
  );
}

function amountText({ largest, unit }: JointError): string {
  return `${valueText(largest)}${unit === "1" ? "" : ` ${unit}`}`;
}

function lagText(seconds: number): string {
  return `${Math.round(seconds * 1000)} ms`;
}

function titleOf(error: JointError): string {
  const lines = [
    `${error.name}: at most ${amountText(error)} off at ${clockText(error.at_ns)}, ${amountText({ ...error, largest: error.mean })} on average`,
    error.lag_s === null
      ? "Its motion does not tell how late it follows"
      : `It follows ${lagText(error.lag_s)} late`,
  ];
  if (error.beyond) lines.push(`Beyond its limits: ${error.beyond}`);
  return `${lines.join(".\n")}.`;
}
