import { useEffect, useState } from "react";
import { getCards } from "../../api/annotation";
import { pictureAddress } from "../../api/movie";
import type { CardExample, LabelDefinition, LabelLane, TopicExamples } from "../../api/schema";
import { type Answer, useAnswer } from "../../api/use_answer";
import { choicesOf, keyOf, words } from "./label_keys";
import type { Bench } from "./use_bench";
import "./cards.css";

export type Cards = Answer<TopicExamples[]>;

const width = 280;
const stepMs = 180;

export function useCards(task: string): Cards {
  return useAnswer((signal) => getCards(task, signal), [task]);
}

/** Every label of the lane as a card that opens: what it means, its key, and what it looks like. */
export function LaneCards({ bench, cards }: { bench: Bench; cards: Cards }) {
  return (
    <div className="cards">
      {bench.lane.labels.map((label) => (
        <LaneCard key={label.name} lane={bench.lane} label={label} cards={cards} />
      ))}
    </div>
  );
}

interface LaneCardProps {
  lane: LabelLane;
  label: LabelDefinition;
  cards: Cards;
}

function LaneCard({ lane, label, cards }: LaneCardProps) {
  const key = keyOf(lane, label.name);
  return (
    <details className="card-row">
      <summary>
        {words(label.name)} {key && <kbd>{key.toUpperCase()}</kbd>}
      </summary>
      <p>{label.definition}</p>
      {label.starts && <p className="muted">Begins: {label.starts.text}</p>}
      {label.ends && <p className="muted">Ends: {label.ends.text}</p>}
      <LabelPictures lane={lane.name} label={label.name} cards={cards} />
    </details>
  );
}

/** What a label of a lane looks like in other episodes. */
export function LabelPictures({
  lane,
  label,
  cards,
}: {
  lane: string;
  label: string;
  cards: Cards;
}) {
  const own = cards.value?.find((each) => each.lane === lane && each.name === label);
  if (cards.error) return <p className="muted side-hint">No pictures: {cards.error.message}</p>;
  if (!cards.value) return null;
  if (!own)
    return (
      <p className="muted side-hint">
        No picture yet: no other episode that is done shows {words(label)} under this version.
      </p>
    );
  return <Pictures of={own} />;
}

/** What the values that were said of the selected segment mean, and what they look like. */
export function ValueCards({ bench, cards }: { bench: Bench; cards: Cards }) {
  const said = Object.entries(bench.segment?.attributes ?? {});
  return said.map(([attribute, value]) => {
    const own = cards.value?.find((each) => each.attribute === attribute && each.name === value);
    if (!own) return null;
    const choice = choicesOf(bench.taxonomy, attribute).find((each) => each.name === value);
    return (
      <details key={attribute} className="card-row">
        <summary>
          <span className="muted">{words(attribute)}</span> {words(own.name)}
        </summary>
        {choice && <p>{choice.definition}</p>}
        <Pictures of={own} />
      </details>
    );
  });
}

function Pictures({ of }: { of: TopicExamples }) {
  return of.examples.map((each) => (
    <Example key={`${each.episode} ${each.start_ns}`} example={each} name={words(of.name)} />
  ));
}

/** The pictures of one stretch; under the pointer it is stepped through. */
function Example({ example, name }: { example: CardExample; name: string }) {
  const { episode, stream, clip } = example;
  const [isPlaying, setPlaying] = useState(false);
  const step = useStep(isPlaying, clip.length);
  const at = (ns: number) => `${(ns / 1e9).toFixed(2)} s`;
  const play = { onPointerEnter: () => setPlaying(true), onPointerLeave: () => setPlaying(false) };
  return (
    <figure className="card-example" {...play}>
      <div className="card-pictures">
        {example.pictures.map(({ caption, frame }) => (
          <div key={caption}>
            <img
              src={pictureAddress(episode, stream, frame, width)}
              alt={`${name}, ${caption}`}
              loading="lazy"
            />
            <span>{caption}</span>
          </div>
        ))}
        {isPlaying && clip.length > 1 && (
          <img
            className="card-clip"
            src={pictureAddress(episode, stream, clip[step] as number, width)}
            alt={`${name}, ${step + 1} of ${clip.length}`}
          />
        )}
      </div>
      <figcaption className="muted">
        {example.file}, {at(example.start_ns)} to {at(example.end_ns)}
      </figcaption>
    </figure>
  );
}

/** Counts through the frames again and again while it plays. */
function useStep(isPlaying: boolean, count: number): number {
  const [step, setStep] = useState(0);
  useEffect(() => {
    if (!isPlaying) return;
    setStep(0);
    const timer = setInterval(() => setStep((last) => (last + 1) % count), stepMs);
    return () => clearInterval(timer);
  }, [isPlaying, count]);
  return step;
}
