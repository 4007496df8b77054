import type { EpisodeComparison, EpisodeDetail, FactDifference } from "../../api/schema";
import { severityText } from "../../parts/severity";
import { checkTitle } from "../../parts/words";
import { dateText, durationText } from "../episode/wording";
import "./differences.css";

interface Props {
  a: EpisodeDetail;
  b: EpisodeDetail;
  comparison: EpisodeComparison;
}

/** What differs between the two: outcome, findings, scores, and how they came about. */
export function Differences({ a, b, comparison }: Props) {
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
      <Part title="Findings" none={findings.length === 0 ? unfound(a, b) : ""}>
        {findings.map(({ check, severity, ...counts }) => (
          <tr key={check} className={counts.a === counts.b ? "differences-same" : undefined}>
            <th scope="row">
              {checkTitle(check)}{" "}
              <span className={`chip ${severity}`}>{severityText(severity)}</span>
            </th>
            <td className="num">{counts.a || (a.checked ? "–" : "not checked")}</td>
            <td className="num">{counts.b || (b.checked ? "–" : "not checked")}</td>
          </tr>
        ))}
      </Part>
      <Part title="Parts of the score" none={scores.length === 0 ? "none in either" : ""}>
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

/** Where nothing was found, whether anything was looked for. */
export function unfound(a: EpisodeDetail, b: EpisodeDetail): string {
  if (a.checked && b.checked) return "none in either";
  if (!a.checked && !b.checked) return "no check has looked at either";
  return `none; no check has looked at ${a.checked ? "B" : "A"}`;
}

function Part({
  title,
  none,
  children,
}: {
  title: string;
  /** What is said where there is nothing; empty where there is something. */
  none: string;
  children: React.ReactNode;
}) {
  return (
    <tbody>
      <tr>
        <th className="differences-part" colSpan={3} scope="colgroup">
          {title}
          {none && <span className="muted"> {none}</span>}
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
