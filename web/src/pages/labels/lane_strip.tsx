import type { LaneFacts } from "../../api/schema";
import { shareOf } from "../../player/timeline_rows";
import { inkOf } from "./card_navigation";

interface Props {
  name: string;
  lane: LaneFacts | undefined;
  startNs: number;
  endNs: number;
  /** What is disputed, drawn as a frame. */
  window?: [number, number] | null;
  /** Marks to draw over it, each in its own colour. */
  marks?: { timeNs: number; className: string }[];
}

/** One lane of labels over a span of time. */
export function LaneStrip({ name, lane, startNs, endNs, window = null, marks = [] }: Props) {
  const items = (lane?.items ?? []).filter(
    (item) => item.end_ns >= startNs && item.start_ns <= endNs,
  );
  const labels = [...new Set((lane?.items ?? []).map((item) => item.label))].sort();
  const at = (timeNs: number) => 100 * shareOf(timeNs, startNs, endNs);
  return (
    <div className="lane-strip">
      <span className="lane-strip-name">{name}</span>
      <div
        className="lane-strip-track"
        role="img"
        aria-label={`${name}: ${items.map((item) => item.label).join(", ") || "nothing"}`}
      >
        {items.map((item) => (
          <span
            key={`${item.start_ns} ${item.label}`}
            className="lane-strip-item"
            title={item.label}
            style={{
              left: `${at(item.start_ns)}%`,
              width: `max(2px, ${at(item.end_ns) - at(item.start_ns)}%)`,
              ["--lane-ink" as string]: inkOf(item.label, labels),
            }}
          >
            {item.label}
          </span>
        ))}
        {window && (
          <span
            className="lane-strip-window"
            style={{
              left: `${at(window[0])}%`,
              width: `max(3px, ${at(window[1]) - at(window[0])}%)`,
            }}
          />
        )}
        {marks.map((mark) => (
          <i
            key={mark.className}
            className={mark.className}
            style={{ left: `${at(mark.timeNs)}%` }}
          />
        ))}
      </div>
    </div>
  );
}
