import type { BoundaryRule, LabelDefinition } from "../../api/schema";
import { type Cards, LabelPictures, LaneCards, ValueCards } from "./cards";
import { words } from "./label_keys";
import type { Bench } from "./use_bench";

export interface GuideProps {
  bench: Bench;
  label: LabelDefinition | null;
  cards: Cards;
}

/** What the taxonomy says of the selected label: the rule that decides its frame comes first. */
export function Guide({ bench, label, cards }: GuideProps) {
  const { taxonomy, selected, segment } = bench;
  if (!label) {
    return (
      <section className="side-part guide" aria-label="Guidelines">
        <h3>Guidelines</h3>
        <p>
          {taxonomy.guidelines ??
            "The taxonomy gives no guidelines. Go by the definition of each label."}
        </p>
        <p className="muted">
          {taxonomy.name} {taxonomy.version}; boundaries within {taxonomy.tolerance_frames} frames
          count as the same.
        </p>
        <LaneCards bench={bench} cards={cards} />
      </section>
    );
  }
  return (
    <section className="side-part guide" aria-label="Guidelines">
      <h3>{words(label.name)}</h3>
      <p>{label.definition}</p>
      {label.starts && (
        <RuleText title="Begins" rule={label.starts} isNow={selected?.edge === "start"} />
      )}
      {label.ends && <RuleText title="Ends" rule={label.ends} isNow={selected?.edge === "end"} />}
      <Examples title="For example" list={label.examples} sign="+" />
      <Examples title="Not this" list={label.not_this} sign="−" />
      {segment && <LabelPictures lane={segment.lane} label={label.name} cards={cards} />}
      <ValueCards bench={bench} cards={cards} />
    </section>
  );
}

function RuleText({ title, rule, isNow }: { title: string; rule: BoundaryRule; isNow: boolean }) {
  return (
    <p className="guide-rule" data-now={isNow}>
      <b>{title}</b> {rule.text}{" "}
      <span className="muted">
        Event: {[rule.event, ...rule.otherwise].map(words).join(", else ")}.
      </span>
    </p>
  );
}

function Examples({ title, list, sign }: { title: string; list: readonly string[]; sign: string }) {
  if (!list.length) return null;
  return (
    <div className="guide-examples" data-sign={sign}>
      <span className="muted">{title}</span>
      <ul>
        {list.map((each) => (
          <li key={each}>
            <span aria-hidden>{sign}</span> {each}
          </li>
        ))}
      </ul>
    </div>
  );
}
