import type { AdjudicationFacts, DisagreementCard } from "../../api/schema";
import { LaneStrip } from "./lane_strip";

interface Props {
  held: AdjudicationFacts;
  place: number;
  onChoose: (place: number) => void;
}

/** Both versions and the result over the whole episode, with a number where they differ. */
export function CardList({ held, place, onChoose }: Props) {
  const current = held.cards[place];
  const title = current?.lane_title;
  const lane = (lanes: AdjudicationFacts["first"]) =>
    lanes.find((each) => each.name === title) ?? lanes[0];
  const span = held.end_ns - held.start_ns;
  const share = (card: DisagreementCard) =>
    card.kind === "outcome" ? 1 : Math.min(Math.max((card.start_ns - held.start_ns) / span, 0), 1);
  return (
    <section className="card-list" aria-label="Both versions">
      <div className="card-list-marks">
        {held.cards.map((card, at) => (
          <button
            key={card.id}
            type="button"
            className={`card-mark ${card.decided ? "card-mark-done" : ""}`}
            aria-pressed={at === place}
            aria-label={`Difference ${at + 1}: ${card.question}${card.decided ? " (decided)" : ""}`}
            style={{
              left: `clamp(0px, ${100 * share(card)}% - 11px + ${24 * crowd(held.cards.map(share), at)}px, 100% - ${22 + 24 * behind(held.cards.map(share), at)}px)`,
            }}
            onClick={() => onChoose(at)}
          >
            {at + 1}
          </button>
        ))}
      </div>
      {(["first", "second", "result"] as const).map((side) => (
        <LaneStrip
          key={side}
          name={{ first: "First", second: "Second", result: "Result" }[side]}
          lane={lane(held[side])}
          startNs={held.start_ns}
          endNs={held.end_ns}
          window={current && current.kind !== "outcome" ? [current.start_ns, current.end_ns] : null}
        />
      ))}
    </section>
  );
}

const NEAR = 0.02;

/** How many marks before this one lie at nearly the same place: it stands beside them. */
function crowd(shares: number[], place: number): number {
  return shares.slice(0, place).filter((each) => Math.abs(each - (shares[place] ?? 0)) < NEAR)
    .length;
}

/** How many come after it there: room is left for them at the end. */
function behind(shares: number[], place: number): number {
  return shares.slice(place + 1).filter((each) => Math.abs(each - (shares[place] ?? 0)) < NEAR)
    .length;
}
