import { memo } from "react";
import { noteLane } from "../api/notes";
import type { LaneFacts } from "../api/schema";
import { laneBars } from "./timeline_rows";
import type { Tip } from "./timeline_tip";

export interface TimelineLaneProps {
  lane: LaneFacts;
  startNs: number;
  endNs: number;
  onTip: (tip: Tip | null) => void;
}

const MOST_ITEMS = 400;

/** Texts over time: each event with the phase that it begins, or what was said while it holds. */
export const TimelineLane = memo(function TimelineLane({
  lane,
  startNs,
  endNs,
  onTip,
}: TimelineLaneProps) {
  const bars = laneBars(lane.items, startNs, endNs).slice(0, MOST_ITEMS);
  return (
    <div className="timeline-row">
      <span className="timeline-name" title={lane.name}>
        {lane.name.replaceAll("_", " ")}
      </span>
      <ul className="timeline-lane" aria-label={`${lane.name}: ${bars.length} items`}>
        {bars.map(({ item, isEvent, from, to }) => (
          <li
            key={`${item.start_ns} ${item.label}`}
            className={lane.name === noteLane ? "is-pin" : isEvent ? "is-event" : ""}
            style={{
              left: `${from * 100}%`,
              width: lane.name === noteLane ? undefined : `${(to - from) * 100}%`,
            }}
            onPointerEnter={() =>
              onTip({ timeNs: item.start_ns, text: item.label, more: item.detail })
            }
          >
            <span>{item.label}</span>
          </li>
        ))}
      </ul>
    </div>
  );
});
