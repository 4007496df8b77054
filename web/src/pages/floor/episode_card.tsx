import { type FormEvent, useState } from "react";
import type { TakeMark } from "../../api/takes";
import { Dialog } from "../../parts/dialog";
import { CardPicture } from "./card_picture";
import { levelsOf, placeText } from "./card_words";
import type { EpisodeCard } from "./floor_state";

const reasons = ["The object is missing", "Something is broken", "Out of reach", "Not safe"];

/** What the next take is to show: the table with the object, what to change, what not to do. */
export function EpisodeCardView({
  card,
  isRunning,
  mayDrive,
  onRefuse,
}: {
  card: EpisodeCard;
  isRunning: boolean;
  mayDrive: boolean;
  onRefuse: () => void;
}) {
  const place = placeText(card);
  return (
    <section className="episode-card" aria-label="The card">
      <header>
        <b>
          {isRunning ? "Now" : "Next"}: {card.number} of {card.planned}
        </b>
        <span className="muted">{card.campaign}</span>
      </header>
      <CardPicture card={card} />
      {place && <p className="card-where">{place}</p>}
      <ul className="card-levels">
        {levelsOf(card).map(([name, level]) => (
          <li key={name}>
            <span>{name.replaceAll("_", " ")}</span> <b>{level.replaceAll("_", " ")}</b>
          </li>
        ))}
        {Object.entries(card.values).flatMap(([name, values]) =>
          Object.entries(values).map(([axis, value]) => (
            <li key={`${name}.${axis}`}>
              <span>{`${name} ${axis}`.replaceAll("_", " ")}</span> <b>{value}</b>
            </li>
          )),
        )}
      </ul>
      {card.changes.length > 0 && !isRunning && (
        <ul className="card-changes" aria-label="Change first">
          {card.changes.map((each) => (
            <li key={each}>Change {each}</li>
          ))}
        </ul>
      )}
      {card.prohibited.length > 0 && (
        <ul className="card-never" aria-label="Never">
          {card.prohibited.map((each) => (
            <li key={each}>{each}</li>
          ))}
        </ul>
      )}
      {!isRunning && mayDrive && (
        <button type="button" className="quiet" onClick={onRefuse}>
          Cannot do this one <kbd>R</kbd>
        </button>
      )}
    </section>
  );
}

/** Why a card cannot be followed: one press for what is common, words for the rest. */
export function RefuseDialog({
  onClose,
  send,
}: {
  onClose: () => void;
  send: (mark: TakeMark) => Promise<void>;
}) {
  const [words, setWords] = useState("");
  const refuse = (reason: string) => {
    onClose();
    void send({ mark: "refuse", reason });
  };
  return (
    <Dialog title="Why not this one?" onClose={onClose}>
      <div className="refuse-reasons">
        {reasons.map((reason) => (
          <button key={reason} type="button" onClick={() => refuse(reason)}>
            {reason}
          </button>
        ))}
      </div>
      <form
        className="refuse-other"
        onSubmit={(event: FormEvent) => {
          event.preventDefault();
          if (words.trim()) refuse(words.trim());
        }}
      >
        <label>
          Something else{" "}
          <input value={words} maxLength={500} onChange={(event) => setWords(event.target.value)} />
        </label>
        <button type="submit" disabled={!words.trim()}>
          Refuse
        </button>
      </form>
      <p className="muted">Another card comes at once. The reason is kept with this one.</p>
    </Dialog>
  );
}
