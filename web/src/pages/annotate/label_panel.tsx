import type { LabelDefinition, LabelLane } from "../../api/schema";
import { setLabel } from "./actions";
import { Attributes } from "./attributes";
import type { Cards } from "./cards";
import { Guide } from "./guide";
import { inkOf, keyOf, labelOf, words } from "./label_keys";
import type { Bench } from "./use_bench";

export interface LabelPanelProps {
  bench: Bench;
  cards: Cards;
  asked: string | null;
  onAsk: (attribute: string) => void;
}

/** The labels of the lane with their keys, what is asked of the selected one, and its rule. */
export function LabelPanel({ bench, cards, asked, onAsk }: LabelPanelProps) {
  const { lane, segment, taxonomy, line } = bench;
  const label = segment ? labelOf(taxonomy, segment.lane, segment.label) : null;
  const names = label ? [...label.attributes, ...(label.optional ?? [])] : [];
  return (
    <>
      <section className="side-part" aria-label="Labels">
        <h3>
          {lane.title}
          <span className="muted">
            {segment
              ? ` · frame ${line.frameOf(segment.start_ns)} to ${line.frameOf(segment.end_ns)}`
              : " · nothing selected"}
          </span>
        </h3>
        <div className="label-buttons">
          {lane.labels.map((each) => (
            <LabelButton key={each.name} bench={bench} lane={lane} label={each} />
          ))}
        </div>
        {!segment && bench.canEdit && (
          <p className="muted side-hint">
            A key begins its label at the picture on the screen. Enter goes to the next boundary.
          </p>
        )}
      </section>
      {segment && label && names.length > 0 && (
        <Attributes bench={bench} segment={segment} names={names} asked={asked} onAsk={onAsk} />
      )}
      <Guide bench={bench} label={label} cards={cards} />
    </>
  );
}

function LabelButton({
  bench,
  lane,
  label,
}: {
  bench: Bench;
  lane: LabelLane;
  label: LabelDefinition;
}) {
  const key = keyOf(lane, label.name);
  const isSet = bench.segment?.lane === lane.name && bench.segment.label === label.name;
  return (
    <button
      type="button"
      className="label-button"
      aria-pressed={isSet}
      disabled={!bench.canEdit}
      title={label.definition}
      style={{ "--ink-of": inkOf(lane, label.name) } as React.CSSProperties}
      onClick={() => setLabel(bench, label.name)}
    >
      <span className="label-dot" aria-hidden />
      {label.parent && <span className="muted">{words(label.parent)} ›</span>}
      {words(label.name)}
      {key && <kbd>{key.toUpperCase()}</kbd>}
    </button>
  );
}
