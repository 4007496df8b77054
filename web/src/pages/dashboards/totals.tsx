import { browseAddress, getChart, type Scope } from "../../api/dashboards";
import { useAnswer } from "../../api/use_answer";
import { Link } from "../../parts/link";

export const totalsChart = "totals";

/** How much data there is, on top of every page; each number opens its episodes. */
export function Totals({ scope }: { scope: Scope }) {
  const answer = useAnswer(
    (signal) => getChart(totalsChart, scope, {}, signal),
    [scope.query, scope.days],
  );
  const drawn = answer.value?.payload;
  if (answer.error)
    return (
      <p className="totals-said" role="alert">
        {answer.error.message}
      </p>
    );
  if (drawn?.kind !== "figures")
    return <p className="totals-said muted">{answer.value?.answer ?? "Counting…"}</p>;
  return (
    <dl className="totals" aria-label={answer.value?.title}>
      {drawn.figures.map(({ label, value, detail, query }) => {
        const href = browseAddress(query);
        return (
          <div key={label}>
            <dt>{label}</dt>
            <dd className="totals-value num">{href ? <Link href={href}>{value}</Link> : value}</dd>
            <dd className="muted num">{detail}</dd>
          </div>
        );
      })}
    </dl>
  );
}
