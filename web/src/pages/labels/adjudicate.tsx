import { useState } from "react";
import { getEpisode } from "../../api/episode";
import { acceptPair, decideCard, getAdjudication } from "../../api/labels";
import type { AdjudicationFacts } from "../../api/schema";
import { getStamps } from "../../api/stamps";
import { useAnswer } from "../../api/use_answer";
import { Link } from "../../parts/link";
import { Notice, Waiting } from "../../parts/notice";
import { useShortcuts } from "../../parts/shortcuts";
import { newKey } from "../review/outbox";
import "./adjudicate.css";
import { EpisodeName } from "../../parts/episode_name";
import { CardList } from "./card_list";
import { nextCard } from "./card_navigation";
import { CardView, type Decision } from "./card_view";

/** One card for every difference of two people: look, press a key, and the next one comes. */
export function Adjudicate({ pair }: { pair: string }) {
  const answer = useAnswer((signal) => getAdjudication(pair, signal), [pair]);
  if (answer.error) return <Notice error={answer.error} again={answer.again} />;
  if (!answer.value) return <Waiting what="Opening both versions" />;
  return <Deciding first={answer.value} />;
}

function Deciding({ first }: { first: AdjudicationFacts }) {
  const [held, setHeld] = useState(first);
  const [place, setPlace] = useState(() => nextCard(first.cards, -1));
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const { pair, episode } = held.facts;
  const facts = useAnswer((signal) => getEpisode(episode, signal), [episode]);
  const stamps = useAnswer(
    (signal) => getStamps(episode, held.reference, signal),
    [episode, held.reference],
  );
  const isOver = held.facts.state === "done";
  const card = held.cards[place];
  const send = (asked: Promise<AdjudicationFacts>, then: (now: AdjudicationFacts) => void) => {
    setBusy(true);
    setError(null);
    asked
      .then(
        (now) => {
          setHeld(now);
          then(now);
        },
        (reason: Error) => setError(reason.message),
      )
      .finally(() => setBusy(false));
  };
  const decide = (decision: Decision) => {
    if (!card || isBusy || isOver) return;
    send(decideCard(pair, card.id, { ...decision, key: newKey() }), (now) =>
      setPlace(nextCard(now.cards, place)),
    );
  };
  const accept = () => send(acceptPair(pair), () => setPlace(held.cards.length));
  const isReady = !isOver && held.cards.every((each) => each.decided);
  const move = (step: number) => setPlace(Math.min(Math.max(place + step, 0), held.cards.length));
  useShortcuts("Adjudication", [
    { keys: ["k", "PageUp", "u"], does: "Card before", run: () => move(-1) },
    { keys: ["j", "PageDown"], does: "Next card", run: () => move(1) },
  ]);
  useShortcuts(
    "Adjudication",
    [{ keys: ["Enter"], does: "Let the labels count", run: accept }],
    isReady && !card && !isBusy,
  );
  if (facts.error) return <Notice error={facts.error} again={facts.again} />;
  return (
    <div className="adjudicate" data-decided={held.facts.decided} aria-busy={isBusy}>
      <header className="adjudicate-head">
        <Link href="/labels/adjudication">← Adjudication</Link>
        <h1>
          {held.facts.episode_task ?? "episode"}{" "}
          <span className="mono muted">
            <EpisodeName id={episode} />
          </span>
        </h1>
        <span className="muted">
          {held.facts.queue} · {held.facts.taxonomy}
        </span>
        <span className="num adjudicate-count" role="status">
          {held.facts.decided} of {held.facts.cards} decided
        </span>
      </header>
      <CardList held={held} place={place} onChoose={setPlace} />
      {error && (
        <p className="adjudicate-error" role="alert">
          {error}
        </p>
      )}
      {card ? (
        facts.value ? (
          <CardView
            key={card.id}
            card={card}
            held={held}
            episode={facts.value}
            stamps={stamps.value}
            isOver={isOver}
            decide={decide}
          />
        ) : (
          <Waiting what="Opening the episode" />
        )
      ) : (
        <End held={held} isReady={isReady} isBusy={isBusy} accept={accept} />
      )}
    </div>
  );
}

interface EndProps {
  held: AdjudicationFacts;
  isReady: boolean;
  isBusy: boolean;
  accept: () => void;
}

function End({ held, isReady, isBusy, accept }: EndProps) {
  const { state, cards, decided, episode } = held.facts;
  if (state === "done") {
    return (
      <div className="adjudicate-end">
        <h2>The labels count</h2>
        <p>
          All {cards} differences are decided. First was {held.names?.[0]}, second {held.names?.[1]}
          ; both see the result in their figures.
        </p>
        <p>
          <Link className="button" href={`/episodes/${encodeURIComponent(episode)}`}>
            See them on the episode
          </Link>{" "}
          <Link className="button" href="/labels/adjudication">
            The next pair
          </Link>
        </p>
      </div>
    );
  }
  return (
    <div className="adjudicate-end">
      <h2>{isReady ? "Everything is decided" : `${cards - decided} still to decide`}</h2>
      <p>
        {isReady
          ? "Once more through the result above? Else let it count."
          : "Go back with k, or choose a card above."}
      </p>
      <button type="button" className="primary" disabled={!isReady || isBusy} onClick={accept}>
        Let the labels count <kbd aria-hidden>Enter</kbd>
      </button>
    </div>
  );
}
