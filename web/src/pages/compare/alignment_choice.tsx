import type { Alignment } from "../../api/comparison";
import type { EpisodeComparison } from "../../api/schema";
import "./alignment_choice.css";

const words: Record<Alignment, [string, string]> = {
  time: ["Time", "as much time since the start mark"],
  start: ["First sample", "as much time since the first sample"],
  phase: ["Phase", "between the same labels and events of both"],
  motion: ["Motion", "where the joints of both are nearest to each other"],
};

export interface AlignmentChoiceProps {
  used: Alignment;
  ways: EpisodeComparison["ways"];
  onChange: (next: Alignment) => void;
}

/** By what the moments of the two belong together; a way that cannot be taken says why. */
export function AlignmentChoice({ used, ways, onChange }: AlignmentChoiceProps) {
  const refused = ways
    .filter(({ possible }) => !possible)
    .map(({ align, reason }) => `${words[align][0]}: ${reason}`);
  return (
    <fieldset className="align">
      <legend>Align by</legend>
      {(Object.keys(words) as Alignment[]).map((each) => {
        const way = ways.find(({ align }) => align === each);
        const [name, title] = words[each];
        return (
          <button
            key={each}
            type="button"
            aria-pressed={used === each}
            disabled={way?.possible === false}
            title={way?.reason ?? title}
            onClick={() => onChange(each)}
          >
            {name}
          </button>
        );
      })}
      {refused.length > 0 && <span className="muted">{refused.join("; ")}</span>}
    </fieldset>
  );
}
