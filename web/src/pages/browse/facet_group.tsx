import { useEffect, useState } from "react";
import type { Refinement } from "../../api/episodes";
import type { CountedValue, FacetCounts } from "../../api/schema";
import "./facet_group.css";
import { compactCount, countText, facetTitle, valueText } from "./wording";

const few = 6;

interface Props {
  facet: FacetCounts;
  isOpen: boolean;
  onRefine: (refinement: Refinement) => void;
}

/** The values of one field with how many episodes have them. */
export function FacetGroup({ facet, isOpen, onRefine }: Props) {
  const [all, setAll] = useState(false);
  const chosen = facet.values.filter((value) => value.chosen);
  const most = Math.max(1, ...facet.values.map((value) => value.count));
  const shown = all
    ? facet.values
    : facet.values.filter((value, place) => place < few || value.chosen);
  const isEmpty = facet.values.every((value) => value.value === null);
  if (isEmpty && !chosen.length) return null;
  return (
    <details className="facet-group" open={isOpen || chosen.length > 0}>
      <summary>
        {facetTitle(facet.name)}
        {chosen.length > 0 && (
          <button
            type="button"
            className="quiet facet-group-clear"
            onClick={(event) => {
              event.preventDefault();
              onRefine({ facet: facet.name, clear: true });
            }}
          >
            clear
          </button>
        )}
      </summary>
      <ul>
        {shown.map((value) => (
          <li key={String(value.value)}>
            <Value facet={facet.name} value={value} most={most} onRefine={onRefine} />
          </li>
        ))}
      </ul>
      {facet.values.length > few && (
        <button type="button" className="quiet facet-group-more" onClick={() => setAll(!all)}>
          {all ? "Fewer" : `All ${facet.values.length}${facet.more ? "+" : ""}`}
        </button>
      )}
    </details>
  );
}

function Value({
  facet,
  value,
  most,
  onRefine,
}: {
  facet: string;
  value: CountedValue;
  most: number;
  onRefine: (refinement: Refinement) => void;
}) {
  const text = valueText(facet, value.value);
  // The box shows the click at once; the server's answer comes a little later.
  const [pending, setPending] = useState<boolean | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the server's answer ends what was pending
  useEffect(() => setPending(null), [value]);
  return (
    <label className="facet-group-value" title={`${text}: ${countText(value.count)}`}>
      <input
        type="checkbox"
        checked={pending ?? value.chosen}
        onChange={(event) => {
          setPending(event.target.checked);
          onRefine({ facet, value: value.value });
        }}
        aria-label={`${facetTitle(facet)} ${text}, ${countText(value.count)}`}
      />
      <span className="facet-group-text">{text}</span>
      <span className="facet-group-count num">{compactCount(value.count)}</span>
      <span
        className="facet-group-bar"
        style={{ width: `${(value.count / most) * 100}%` }}
        aria-hidden
      />
    </label>
  );
}
