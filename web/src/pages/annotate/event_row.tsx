import type { EventFacts } from "../../api/schema";
import { clockText } from "../../player/clock";
import { labelOf, words } from "./label_keys";
import { showMoment } from "./play_around";
import type { Bench } from "./use_bench";

/** The events that the rule of a label names, the surest first. */
export function eventsOfRule({ segment, selected, taxonomy }: Bench): string[] {
  if (!segment || !selected) return [];
  const label = labelOf(taxonomy, segment.lane, segment.label);
  const rule = selected.edge === "start" ? label?.starts : label?.ends;
  return rule ? [rule.event, ...rule.otherwise] : [];
}

export interface EventRowProps {
  bench: Bench;
  place: (timeNs: number) => number;
  /** The boundary that a drag is held at by an event. */
  snapNs: number | null;
}

/** Where the signals show something happening; those that decide the selected boundary stand out. */
export function EventRow({ bench, place, snapNs }: EventRowProps) {
  const wanted = eventsOfRule(bench);
  return (
    <div className="event-row" role="list" aria-label="Events">
      {!bench.events.length && (
        <span className="lane-hint">
          The signals of this episode show no events. Go by the pictures.
        </span>
      )}
      {bench.events.map((event, number) => {
        const left = place(event.time_ns);
        if (left < 0 || left > 100) return null;
        const isHeld = snapNs !== null && bench.line.showing(event.time_ns) === snapNs;
        return (
          <Tick
            key={number}
            bench={bench}
            event={event}
            left={left}
            isWanted={wanted.includes(event.name)}
            isHeld={isHeld}
          />
        );
      })}
    </div>
  );
}

interface TickProps {
  bench: Bench;
  event: EventFacts;
  left: number;
  isWanted: boolean;
  isHeld: boolean;
}

function Tick({ bench, event, left, isWanted, isHeld }: TickProps) {
  const sure = `${Math.round(event.confidence * 100)} % sure`;
  const name = `${words(event.name)}${event.side ? `, ${event.side}` : ""}`;
  return (
    <span
      role="listitem"
      className="event-tick"
      data-wanted={isWanted}
      data-held={isHeld}
      style={{ left: `${left}%`, opacity: 0.35 + 0.65 * event.confidence }}
    >
      <button
        type="button"
        tabIndex={-1}
        aria-label={`${name} at ${clockText(event.time_ns)}`}
        title={`${name} · ${clockText(event.time_ns)} · frame ${bench.line.frameOf(bench.line.showing(event.time_ns))} · ${sure}`}
        onClick={() => showMoment(bench.clock, bench.line.showing(event.time_ns))}
      />
      {isWanted && <span className="event-name">{words(event.name)}</span>}
    </span>
  );
}
