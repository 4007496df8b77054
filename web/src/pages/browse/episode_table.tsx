import { nameOf } from "../../api/names";
import type { ListedEpisode } from "../../api/schema";
import { Link } from "../../parts/link";
import { VerdictChip } from "../../parts/notice";
import type { Column } from "./columns";
import "./episode_table.css";
import { ScoreBar } from "./score_bar";
import { Thumbnail } from "./thumbnail";
import { durationText, outcomeText, tellingMoment, timeText } from "./wording";

export interface RowProps {
  row: ListedEpisode | undefined;
  place: number;
  isCurrent: boolean;
  isSelected: boolean;
  onSelect: (row: ListedEpisode) => void;
  onTouch: (place: number) => void;
}

/** The titles of the columns; those that the list can be ordered by are buttons. */
export function TableHead({
  columns,
  order,
  onOrder,
}: {
  columns: Column[];
  order: string;
  onOrder: (order: string) => void;
}) {
  return (
    <div
      className="episode-table-head"
      role="row"
      style={{ gridTemplateColumns: template(columns) }}
    >
      <span role="columnheader" aria-label="Selected" />
      {columns.map((column) => (
        <span
          key={column.name}
          role="columnheader"
          className={column.align}
          aria-sort={sortOf(column, order)}
        >
          {column.order ? (
            <button
              type="button"
              className="quiet"
              onClick={() => onOrder(nextOrder(column.order ?? "", order))}
            >
              {column.title}
              {order.replace("-", "") === column.order && (
                <span aria-hidden>{order.startsWith("-") ? "↓" : "↑"}</span>
              )}
            </button>
          ) : (
            column.title
          )}
        </span>
      ))}
    </div>
  );
}

function sortOf(column: Column, order: string): "ascending" | "descending" | undefined {
  if (order.replace("-", "") !== column.order) return undefined;
  return order.startsWith("-") ? "descending" : "ascending";
}

function nextOrder(field: string, order: string): string {
  // Times and scores are first wanted from the highest.
  const first = ["number", "recorded", "score", "duration_s"].includes(field) ? `-${field}` : field;
  if (order.replace("-", "") !== field) return first;
  return order.startsWith("-") ? field : `-${field}`;
}

function template(columns: Column[]): string {
  return `28px ${columns.map((column) => column.width).join(" ")}`;
}

export function TableRow({ columns, ...props }: RowProps & { columns: Column[] }) {
  const { row, place, isCurrent, isSelected, onSelect, onTouch } = props;
  return (
    <div
      id={`row-${place}`}
      role="row"
      aria-rowindex={place + 2}
      aria-selected={isSelected}
      className={`episode-table-row${isCurrent ? " current" : ""}${isSelected ? " selected" : ""}`}
      style={{ gridTemplateColumns: template(columns) }}
      onPointerDown={() => onTouch(place)}
    >
      {row ? (
        <>
          <SelectBox row={row} isSelected={isSelected} onSelect={onSelect} />
          {columns.map((column) => (
            <span
              key={column.name}
              role="gridcell"
              className={`episode-table-cell ${column.align ?? ""}`}
            >
              {column.show(row)}
            </span>
          ))}
          <RowLink row={row} />
        </>
      ) : (
        <span className="episode-table-blank" role="gridcell" aria-label="Loading" />
      )}
    </div>
  );
}

/** On a phone: two lines and a picture. */
export function NarrowRow({ row, place, isCurrent, isSelected, onTouch }: RowProps) {
  return (
    <div
      id={`row-${place}`}
      role="row"
      aria-rowindex={place + 2}
      aria-selected={isSelected}
      className={`episode-table-narrow${isCurrent ? " current" : ""}`}
      onPointerDown={() => onTouch(place)}
    >
      {row ? (
        <>
          <Thumbnail id={row.id} width={160} at={tellingMoment(row)} />
          <span role="gridcell" className="episode-table-lines">
            <span className="episode-table-line">
              <b>
                <span className="num">{nameOf(row)}</span> {row.task ?? "no task"}
              </b>
              <VerdictChip verdict={row.verdict} decision={row.decision} assessed={row.assessed} />
            </span>
            <span className="episode-table-line muted">
              <span>
                {[timeText(row.recorded_ns), row.operator, durationText(row.duration_s)]
                  .filter(Boolean)
                  .join(" · ")}
              </span>
            </span>
            <span className="episode-table-line">
              <span className={row.failure ? "episode-table-bad" : "muted"}>
                {outcomeText(row)}
              </span>
              <ScoreBar score={row.score} />
            </span>
          </span>
          <RowLink row={row} />
        </>
      ) : (
        <span className="episode-table-blank" role="gridcell" aria-label="Loading" />
      )}
    </div>
  );
}

/** Covers the row, so that a click anywhere opens it and a middle click opens a tab. */
function RowLink({ row }: { row: ListedEpisode }) {
  return (
    <span role="gridcell" className="episode-table-open">
      <Link
        className="episode-table-link"
        href={`/episodes/${encodeURIComponent(row.id)}`}
        tabIndex={-1}
        aria-label={`Open ${nameOf(row)}, ${row.task ?? "episode"} of ${timeText(row.recorded_ns)}`}
      />
    </span>
  );
}

export function SelectBox({
  row,
  isSelected,
  onSelect,
}: {
  row: ListedEpisode;
  isSelected: boolean;
  onSelect: (row: ListedEpisode) => void;
}) {
  return (
    <span role="gridcell" className="episode-table-select">
      <input
        type="checkbox"
        tabIndex={-1}
        checked={isSelected}
        aria-label={`Select ${nameOf(row)}, ${row.task ?? "episode"} of ${timeText(row.recorded_ns)}`}
        onChange={() => onSelect(row)}
      />
    </span>
  );
}
