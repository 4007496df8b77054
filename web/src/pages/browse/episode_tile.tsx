import { type PointerEvent, useState } from "react";
import { nameOf } from "../../api/names";
import { Link } from "../../parts/link";
import { VerdictChip } from "../../parts/notice";
import { type RowProps, SelectBox } from "./episode_table";
import "./episode_tile.css";
import { ScoreBar } from "./score_bar";
import { Thumbnail } from "./thumbnail";
import { durationText, outcomeText, tellingMoment, timeText } from "./wording";

const moments = 12;

/** An episode as a picture; moving the mouse over it goes through the episode. */
export function EpisodeTile({ row, place, isCurrent, isSelected, onSelect, onTouch }: RowProps) {
  const [at, setAt] = useState<number | null>(null);
  const scrub = (event: PointerEvent<HTMLElement>) => {
    if (event.pointerType !== "mouse") return;
    const box = event.currentTarget.getBoundingClientRect();
    setAt(Math.round(((event.clientX - box.left) / box.width) * moments) / moments);
  };
  const className = `episode-tile${isCurrent ? " current" : ""}${isSelected ? " selected" : ""}`;
  if (!row)
    return <div id={`row-${place}`} role="gridcell" aria-label="Loading" className={className} />;
  return (
    <div
      id={`row-${place}`}
      role="gridcell"
      aria-selected={isSelected}
      className={className}
      onPointerDown={() => onTouch(place)}
    >
      <span
        className="episode-tile-picture"
        onPointerMove={scrub}
        onPointerLeave={() => setAt(null)}
      >
        <Thumbnail id={row.id} width={320} at={at ?? tellingMoment(row)} />
        {at !== null && (
          <span className="episode-tile-at" style={{ width: `${at * 100}%` }} aria-hidden />
        )}
        <span className="episode-tile-length num">{durationText(row.duration_s)}</span>
        <Link
          className="episode-tile-link"
          href={`/episodes/${encodeURIComponent(row.id)}`}
          tabIndex={-1}
          aria-label={`Open ${nameOf(row)}, ${row.task ?? "episode"} of ${timeText(row.recorded_ns)}`}
        />
      </span>
      <SelectBox row={row} isSelected={isSelected} onSelect={onSelect} />
      <span className="episode-tile-line">
        <b>
          <span className="num">{nameOf(row)}</span> {row.task ?? "no task"}
        </b>
        <VerdictChip verdict={row.verdict} decision={row.decision} assessed={row.assessed} />
      </span>
      <span className="episode-tile-line muted">
        <span>
          <time>{timeText(row.recorded_ns)}</time> {row.operator}
        </span>
      </span>
      <span className="episode-tile-line" title={row.finding?.message}>
        <span className={row.failure ? "episode-table-bad" : "muted"}>{outcomeText(row)}</span>
        <ScoreBar score={row.score} />
      </span>
    </div>
  );
}
