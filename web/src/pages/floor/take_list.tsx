import { count } from "../../parts/words";
import { elapsedText } from "../live/health";
import { type FloorHealth, verdictOf } from "./floor_state";

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
