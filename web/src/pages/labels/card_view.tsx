import { useState } from "react";
import { getEvents } from "../../api/annotation";
import type { AdjudicationFacts, DisagreementCard, EpisodeDetail } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { useShortcuts } from "../../parts/shortcuts";
import { clockText } from "../../player/clock";
import { around } from "./card_navigation";
import { FrameChoice } from "./frame_choice";
import { LaneStrip } from "./lane_strip";
import { RuleSignal } from "./rule_signal";
import { plural, spoken } from "./wording";

export interface Decision {
  choice: "first" | "second" | "other";
  frame?: number;
  label?: string;
}

interface Props {
  card: DisagreementCard;
  held: AdjudicationFacts;
  episode: EpisodeDetail;
  stamps: Float64Array | null;
  isOver: boolean;
  decide: (decision: Decision) => void;
}

/** One question: the rule in words, what each of the two said, the pictures and the signal. */
export function CardView({ card, held, episode, stamps, isOver, decide }: Props) {
  const isBoundary = card.kind === "boundary";
  const [frame, setFrame] = useState<number | null>(card.decided?.frame ?? null);
  const events = useAnswer((signal) => getEvents(episode.id, signal), [episode.id]);
  const [startNs, endNs] = around(card, held.start_ns, held.end_ns);
  const middle = Math.round((card.first.frame + card.second.frame) / 2);
  // The first press shows the frame between the two; each further one goes a frame on.
  const nudge = (step: number) =>
    setFrame((now) => Math.min(Math.max(now === null ? middle : now + step, 0), held.frames - 1));
  const others = card.choices.slice(0, 7);
  useShortcuts(
    "This card",
    [
      { keys: ["1"], does: "The first is right", run: () => decide({ choice: "first" }) },
      { keys: ["2"], does: "The second is right", run: () => decide({ choice: "second" }) },
      ...(isBoundary
        ? [
            { keys: ["ArrowLeft"], does: "Another frame: one earlier", run: () => nudge(-1) },
            { keys: ["ArrowRight"], does: "Another frame: one later", run: () => nudge(1) },
            {
              keys: ["Enter", "3"],
              does: "Neither: this other frame",
              run: () => frame !== null && decide({ choice: "other", frame }),
            },
          ]
        : others.map((label, place) => ({
            keys: [String(place + 3)],
            does: `Neither: ${spoken(label)}`,
            run: () => decide({ choice: "other", label }),
          }))),
    ],
    !isOver,
  );
  const isWhole = card.kind === "outcome";
  const named = (side: "first" | "second") =>
    held[side].find((lane) => lane.name === card.lane_title);
  const marks = isBoundary
    ? [
        { timeNs: card.first.time_ns, className: "mark-first" },
        { timeNs: card.second.time_ns, className: "mark-second" },
        ...(frame !== null && stamps
          ? [{ timeNs: stamps[frame] ?? 0, className: "mark-other" }]
          : []),
      ]
    : [];
  return (
    <article className="card-view" aria-label={card.question}>
      <header>
        <p className="muted">
          {card.lane_title}
          {!isWhole && ` · ${clockText(card.start_ns)}`}
          {isBoundary && ` · ${plural(Math.abs(card.frames), "frame")} apart`}
        </p>
        <h2>{card.question}</h2>
        {card.rule_text && <p className="card-rule">{card.rule_text}</p>}
      </header>
      <FrameChoice
        card={card}
        episode={episode}
        reference={held.reference}
        stamps={stamps}
        frame={frame}
        isOver={isOver}
        nudge={nudge}
        decide={decide}
      />
      {!isBoundary && others.length > 0 && !isOver && (
        <div className="card-others" role="group" aria-label="Neither of the two">
          <span className="muted">Neither:</span>
          {others.map((label, place) => (
            <button
              key={label}
              type="button"
              aria-pressed={card.decided?.label === label}
              onClick={() => decide({ choice: "other", label })}
            >
              {spoken(label)} <kbd aria-hidden>{place + 3}</kbd>
            </button>
          ))}
        </div>
      )}
      {!isWhole && (
        <section className="card-around" aria-label="Around it">
          <LaneStrip
            name="First"
            lane={named("first")}
            startNs={startNs}
            endNs={endNs}
            marks={marks}
          />
          <LaneStrip
            name="Second"
            lane={named("second")}
            startNs={startNs}
            endNs={endNs}
            marks={marks}
          />
          <RuleSignal
            episode={episode}
            wanted={card.events}
            events={events.value ?? []}
            startNs={startNs}
            endNs={endNs}
            marks={marks}
          />
        </section>
      )}
    </article>
  );
}
