import type { EpisodeDetail } from "../../api/schema";
import { checkTitle, count } from "../../parts/words";

/** How many checks could look at the episode: what a verdict rests on. */
export function assessedText(episode: EpisodeDetail): string {
  const { row, checks, checked, not_assessed, assessments } = episode;
  if (!checked) {
    const name = row.number === null ? "" : ` '#${row.number}'`;
    return `No check has looked at it. Have it checked: corporeal rejudge${name}.`;
  }
  if (assessments.length === 0) {
    return "Judged before it was kept what could not be. Judge it anew: corporeal rejudge.";
  }
  const ran = Math.max(checks - not_assessed.length, 0);
  if (not_assessed.length === 0) return `All ${checks} checks could run.`;
  return `${ran} of ${checks} checks could run; ${not_assessed.length} could not.`;
}

/** The checks that could not run, those with one reason together. */
export function NotAssessed({ episode }: { episode: EpisodeDetail }) {
  const reasons = new Map<string, string[]>();
  for (const { check, reason } of episode.not_assessed) {
    reasons.set(reason, [...(reasons.get(reason) ?? []), check]);
  }
  if (reasons.size === 0) return null;
  const sorted = [...reasons].sort(([, one], [, two]) => two.length - one.length);
  return (
    <details className="not-assessed">
      <summary>
        {count(episode.not_assessed.length, "check")} could not run, and count neither for nor
        against it
      </summary>
      <dl>
        {sorted.map(([reason, names]) => (
          <div key={reason}>
            <dt>{reason}</dt>
            <dd className="muted">{names.map(checkTitle).join(", ")}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

/** The rules of the protocol one by one: kept, broken, or unchecked and why. */
export function Adherence({ episode: { protocol, adherence } }: { episode: EpisodeDetail }) {
  if (protocol === null || adherence.length === 0) return null;
  const kept = adherence.filter((rule) => rule.kept === true).length;
  const broken = adherence.filter((rule) => rule.kept === false).length;
  const open = adherence.length - kept - broken;
  return (
    <details className="adherence" open={broken > 0}>
      <summary>
        Protocol {protocol}: {count(kept, "rule")} kept, {broken} broken, {open} unchecked
      </summary>
      <dl>
        {adherence.map((rule) => (
          <div key={rule.name}>
            <dt>
              <span className={`chip ${chip(rule.kept)}`}>{words(rule.kept)}</span> {rule.name}
            </dt>
            {rule.kept !== true && <dd className="muted">{rule.message}</dd>}
          </div>
        ))}
      </dl>
    </details>
  );
}

function words(kept: boolean | null): string {
  if (kept === null) return "unchecked";
  return kept ? "kept" : "broken";
}

function chip(kept: boolean | null): string {
  if (kept === null) return "note";
  return kept ? "accepted" : "fail";
}
