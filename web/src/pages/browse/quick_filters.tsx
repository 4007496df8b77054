import { refine } from "../../api/episodes";
import type { ListingFacets } from "../../api/schema";
import "./quick_filters.css";
import { countText } from "./wording";

const verdicts = ["accepted", "quarantined", "failed"];
const mostFailures = 4;

interface Props {
  query: string;
  facets: ListingFacets | null;
  onQuery: (query: string) => void;
}

const fewChecks = "assessed < 0.7";

/** The query with or without the clause that few checks could run. */
export function toggleFewChecks(query: string): string {
  const bare = query.trim();
  if (bare === fewChecks) return "";
  const tail = ` and ${fewChecks}`;
  if (bare.endsWith(tail)) return bare.slice(0, -tail.length).replace(/^\((.*)\)$/, "$1");
  return bare ? `${/\bor\b/i.test(bare) ? `(${bare})` : bare}${tail}` : fewChecks;
}

/** One press to the failed ones, or to the falls. */
export function QuickFilters({ query, facets, onQuery }: Props) {
  const values = (name: string) =>
    facets?.facets.find((facet) => facet.name === name)?.values ?? [];
  const only = async (facet: string, value: string, isChosen: boolean) => {
    const without = await refine(query, { facet, clear: true });
    onQuery(isChosen ? without : await refine(without, { facet, value }));
  };
  const all = async () => {
    onQuery(
      await refine(await refine(query, { facet: "verdict", clear: true }), {
        facet: "failure",
        clear: true,
      }),
    );
  };
  const buttons = [
    ...verdicts.map((name) => ({
      facet: "verdict",
      name,
      found: values("verdict").find((each) => each.value === name),
    })),
    ...values("failure")
      .filter((each) => each.value !== null)
      .slice(0, mostFailures)
      .map((found) => ({ facet: "failure", name: String(found.value), found })),
  ];
  const isAll = !buttons.some(({ found }) => found?.chosen);
  return (
    <div className="quick-filters" role="group" aria-label="Quick filters">
      <button type="button" aria-pressed={isAll} onClick={() => void all()}>
        All
      </button>
      {buttons.map(({ facet, name, found }) => (
        <button
          key={facet + name}
          type="button"
          className={facet === "failure" ? "quick-filters-failure" : ""}
          aria-pressed={Boolean(found?.chosen)}
          onClick={() => void only(facet, name, Boolean(found?.chosen))}
        >
          {label(facet, name)} <span className="num muted">{countText(found?.count ?? 0)}</span>
        </button>
      ))}
      <button
        type="button"
        className="quick-filters-failure"
        aria-pressed={query.trim().endsWith(fewChecks)}
        title="Fewer than 70 % of the checks could run"
        onClick={() => onQuery(toggleFewChecks(query))}
      >
        Few checks run
      </button>
    </div>
  );
}

function label(facet: string, name: string): string {
  const words = name.replaceAll("_", " ");
  const text = facet === "failure" ? `failure: ${words}` : words;
  return text.charAt(0).toUpperCase() + text.slice(1);
}
