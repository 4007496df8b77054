import { memo } from "react";
import type { EventFacts } from "../api/schema";
import { eventText } from "./event_words";
import { shareOf } from "./timeline_rows";
import type { Tip } from "./timeline_tip";

const MOST_MARKS = 300;

interface TimelineDetectedProps {
  events: EventFacts[];
  startNs: number;
  endNs: number;
  onSeek: (timeNs: number) => void;
  onTip: (tip: Tip | null) => void;
}

/** Events that detectors found in the signals: a mark each, which seeks there. */
export const TimelineDetected = memo(function TimelineDetected({
  events,
  startNs,
  endNs,
  onSeek,
  onTip,
}: TimelineDetectedProps) {
  const shown = events.slice(0, MOST_MARKS);
  return (
    <div className="timeline-row">
      <span className="timeline-name" title="Events that detectors found in the signals">
        Detected
      </span>
      <div
        className="timeline-detected"
        role="group"
        aria-label={`${events.length} detected events`}
      >
        {shown.map((event, place) => {
          const share = shareOf(event.time_ns, startNs, endNs);
          const text = eventText(event);
          const uncertainty = (event.uncertainty_ns / 1e9).toFixed(3);
          const tip = {
            timeNs: event.time_ns,
            text,
            more: `${event.stream}, ± ${uncertainty} s`,
          };
          return (
            <button
              type="button"
              key={`${event.time_ns} ${text}`}
              className="timeline-event"
              aria-label={`${text} at ${(event.time_ns / 1e9).toFixed(3)} s`}
              // One stop of the Tab key; the arrows of the clock and the chain lead to moments.
              tabIndex={place ? -1 : 0}
              style={{ left: `${share * 100}%` }}
              onClick={() => onSeek(event.time_ns)}
              onFocus={() => onTip(tip)}
              onBlur={() => onTip(null)}
              onPointerEnter={() => onTip(tip)}
            />
          );
        })}
      </div>
    </div>
  );
});
