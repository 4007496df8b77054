import { count } from "../../parts/words";
import { elapsedText } from "../live/health";
import { type FloorHealth, rulesOf, type Take, verdictOf } from "./floor_state";

/** The latest takes with their verdicts; the newest is the one that is read from afar. */
export function TakeList({ floor }: { floor: FloorHealth }) {
  const over = floor.takes.filter(({ state }) => state !== "recording");
  const [latest, ...earlier] = over;
  const isFailed = ({ words }: { words: string }) => words.endsWith(": redo");
  const redo = over.filter(isFailed).length;
  return (
    <section className="station-takes" aria-label="Takes">
      {latest ? (
        <p className={`take-latest take-${verdictOf(latest).look}`} role="status">
          <small>
            {latest.name}, {elapsedText(latest.seconds)}
          </small>
          {verdictOf(latest).words}
        </p>
      ) : (
        <p className="muted">The verdict of a take appears here seconds after its end.</p>
      )}
      {latest && <Rules take={latest} />}
      <ul>
        {earlier.slice(0, 4).map((take) => (
          <li key={take.name} className={`take-${verdictOf(take).look}`}>
            <span className="mono">{take.name}</span> {verdictOf(take).words}
          </li>
        ))}
      </ul>
      {(redo > 0 || floor.discarded_today > 0) && (
        <p className="muted">
          {[
            redo > 0 && `${count(redo, "take")} of the latest to redo`,
            floor.discarded_today > 0 && `${floor.discarded_today} discarded today, not counted`,
          ]
            .filter(Boolean)
            .join("; ")}
        </p>
      )}
    </section>
  );
}

/** The rules of the protocol in the latest take: all of them, the broken ones in words. */
function Rules({ take }: { take: Take }) {
  const rules = rulesOf(take);
  if (!rules) return null;
  return (
    <div className="take-rules">
      <strong>{rules.words}</strong>
      <ul>
        {rules.broken.slice(0, 2).map(({ name, message }) => (
          <li key={name} className="rule-broken">
            <b>{name}</b> {message}
          </li>
        ))}
      </ul>
      <ul className="rule-marks" aria-label="Rules">
        {(take.rules ?? []).map(({ name, kept }) => (
          <li
            key={name}
            className={kept === null ? "rule-open" : kept ? "rule-kept" : "rule-broken"}
          >
            <span aria-hidden>{kept === null ? "–" : kept ? "✓" : "✗"}</span> {name}
            <span className="spoken">
              {kept === null ? ", unchecked" : kept ? ", kept" : ", broken"}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
