import type { EpisodeComparison, FactDifference } from "../../api/schema";
import { dateText, durationText } from "../episode/wording";
import "./differences.css";

/** What differs between the two: outcome, findings, scores, and how they came about. */
export function Differences({ comparison }: { comparison: EpisodeComparison }) {
  const { facts, scores, findings } = comparison;
  const order = ["success", "failure", "verdict", "score"];
  const sorted = [...facts].sort(
    (x, y) => rank(order, x) - rank(order, y) || Number(x.same) - Number(y.same),
  );
  return (
    <table className="differences">
      <thead>
        <tr>
          <th scope="col">What</th>
          <th scope="col">A</th>
          <th scope="col">B</th>
        </tr>
      </thead>
      <tbody>
        {sorted.map((each) => (
          <Row
            key={each.name}
            name={each.name}
            same={each.same}
            a={shown(each.name, each.a)}
            b={shown(each.name, each.b)}
          />
        ))}
      </tbody>
      <Part title="Findings" isEmpty={findings.length === 0}>
        {findings.map(({ check, severity, a, b }) => (
          <tr key={check} className={a === b ? "differences-same" : undefined}>
            <th scope="row">
              <code>{check}</code> <span className={`chip ${severity}`}>{severity}</span>
            </th>
            <td className="num">{a || "–"}</td>
            <td className="num">{b || "–"}</td>
          </tr>
        ))}
      </Part>
      <Part title="Parts of the score" isEmpty={scores.length === 0}>
        {scores.map((each) => (
          <Row
            key={each.name}
            name={each.name}
            same={each.same}
            a={shown("score", each.a)}
            b={shown("score", each.b)}
          />
        ))}
      </Part>
    </table>
  );
}

function Part({
  title,
  isEmpty,
  children,
}: {
  title: string;
  isEmpty: boolean;
  children: React.ReactNode;
}) {
  return (
    <tbody>
      <tr>
        <th className="differences-part" colSpan={3} scope="colgroup">
          {title}
          {isEmpty && <span className="muted"> none in either</span>}
        </th>
      </tr>
      {children}
    </tbody>
  );
}

function Row({ name, same, a, b }: { name: string; same: boolean; a: string; b: string }) {
  return (
    <tr className={same ? "differences-same" : undefined}>
      <th scope="row">{name.replace(/_(ns|s)$/, "").replaceAll("_", " ")}</th>
      <td className="num">{a}</td>
      <td className="num">{b}</td>
    </tr>
  );
}

function rank(order: string[], { name }: FactDifference): number {
  const place = order.indexOf(name);
  return place < 0 ? order.length : place;
}

function shown(name: string, value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (name === "score" && typeof value === "number") return value.toFixed(2);
  if (name === "recorded_ns" && typeof value === "number") return dateText(value) ?? "–";
  if (name === "duration_s" && typeof value === "number") return durationText(value) ?? "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return String(value);
}
