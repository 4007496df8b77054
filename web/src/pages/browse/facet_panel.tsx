import type { Refinement } from "../../api/episodes";
import type { ListingFacets } from "../../api/schema";
import { FacetGroup } from "./facet_group";
import "./facet_panel.css";
import { Histogram } from "./histogram";

// Those that split the list best come first; the rest is there when it is needed.
const openFirst = new Set(["verdict", "failure", "task", "operator", "tag", "finding"]);
const shownOrder = [
  "verdict",
  "failure",
  "task",
  "operator",
  "tag",
  "finding",
  "station",
  "batch",
  "state",
  "robot",
];

interface Props {
  facets: ListingFacets | null;
  query: string;
  onRefine: (refinement: Refinement) => void;
}

/** What the list can be narrowed by; every click changes the query above it. */
export function FacetPanel({ facets, query, onRefine }: Props) {
  if (!facets) return <aside className="facet-panel" aria-label="Filters" aria-busy />;
  const byName = new Map(facets.facets.map((facet) => [facet.name, facet]));
  const hasScore = /\bscore\s*(>|<|=|between)/.test(query);
  const hasDays = /\brecorded\s*(>|<|=|between|within)/.test(query);
  return (
    <aside className="facet-panel" aria-label="Filters">
      {shownOrder.slice(0, 2).map((name) => group(name))}
      <Histogram
        title="Score"
        bars={facets.scores}
        isSet={hasScore}
        span={(low, high) =>
          high === "1" ? `score >= ${low}` : `score >= ${low} and score < ${high}`
        }
        onSpan={(span) => onRefine({ facet: "score", span })}
        onClear={() => onRefine({ facet: "score", clear: true })}
      />
      <Histogram
        title="Recorded"
        bars={facets.days}
        isSet={hasDays}
        span={(low, high) => `recorded >= ${low} and recorded < ${high}`}
        onSpan={(span) => onRefine({ facet: "recorded", span })}
        onClear={() => onRefine({ facet: "recorded", clear: true })}
      />
      {shownOrder.slice(2).map((name) => group(name))}
    </aside>
  );

  function group(name: string) {
    const facet = byName.get(name);
    if (!facet) return null;
    return <FacetGroup key={name} facet={facet} isOpen={openFirst.has(name)} onRefine={onRefine} />;
  }
}
