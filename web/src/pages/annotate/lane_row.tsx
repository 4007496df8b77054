import type { LabelLane, Segment } from "../../api/schema";
import { inkOf, isUnsaid, labelOf, words } from "./label_keys";
import type { Bench } from "./use_bench";

export interface LaneRowProps {
  bench: Bench;
  lane: LabelLane;
  segments: readonly Segment[];
  /** The row of each label; more than one where contacts meet. */
  rows: ReadonlyMap<string, number>;
  /** Where a time lies, in hundredths of the track. */
  place: (timeNs: number) => number;
}

export const ROW_PX = 20;

export function countRows(rows: ReadonlyMap<string, number>): number {
  return Math.max(0, ...rows.values()) + 1;
}

/** From here on a proposal need not say how sure it is. */
const sure = 0.9;

/** The segments of one lane; those that are only proposed are hatched. */
export function LaneRow({ bench, lane, segments, rows, place }: LaneRowProps) {
  const isActive = bench.lane.name === lane.name;
  const count = countRows(rows);
  return (
    <div
      className="lane-row"
      data-lane={lane.name}
      data-tiles={lane.tiles}
      data-active={isActive}
      style={count > 1 ? { height: count * ROW_PX } : undefined}
      role="list"
      aria-label={lane.title}
    >
      {!segments.length && <span className="lane-hint">{hintOf(bench, lane, isActive)}</span>}
      {segments.map((segment) => (
        <LaneSegment
          key={segment.id}
          bench={bench}
          lane={lane}
          segment={segment}
          row={count > 1 ? (rows.get(segment.label) ?? 0) : null}
          place={place}
        />
      ))}
    </div>
  );
}

function hintOf({ canEdit }: Bench, lane: LabelLane, isActive: boolean): string {
  if (!canEdit || !isActive) return "";
  return lane.tiles
    ? "Press the key of a label where it begins."
    : "Drag to mark something, or press the key of a label.";
}

function LaneSegment({
  bench,
  lane,
  segment,
  row,
  place,
}: Omit<LaneRowProps, "segments" | "rows"> & { segment: Segment; row: number | null }) {
  const { line, selected, taxonomy } = bench;
  const [from, to] = [place(segment.start_ns), place(segment.end_ns)];
  if (to < -1 || from > 101) return null;
  // What begins before the window shows its name at the edge of it.
  const [left, right] = [Math.max(from, 0), Math.min(to, 100)];
  const isSelected = selected?.id === segment.id;
  const unsaid = (labelOf(taxonomy, lane.name, segment.label)?.attributes ?? []).filter((name) =>
    isUnsaid(segment.attributes[name]),
  );
  const percent = segment.confidence === null ? null : `${Math.round(segment.confidence * 100)} %`;
  const isUnsure = !segment.confirmed && segment.confidence !== null && segment.confidence < sure;
  const state = segment.confirmed
    ? ""
    : `, proposed${percent === null || isUnsure ? "" : `, ${percent} sure`}`;
  // What is seen comes first, as it is seen.
  const name = `${words(segment.label)}${isUnsure ? ` ${percent}` : ""}, frame ${line.frameOf(segment.start_ns)} to ${line.frameOf(segment.end_ns)}${state}`;
  const said = Object.values(segment.attributes)
    .filter((value) => !isUnsaid(value))
    .map((value) => words(String(value)));
  return (
    <div
      className="lane-segment"
      role="listitem"
      data-segment={segment.id}
      data-confirmed={segment.confirmed}
      data-selected={isSelected}
      style={
        {
          left: `${left}%`,
          width: `max(3px, ${right - left}%)`,
          "--ink-of": inkOf(lane, segment.label),
          ...(row === null ? {} : { top: row * ROW_PX, height: ROW_PX - 1 }),
        } as React.CSSProperties
      }
      title={`${name}${said.length ? ` · ${said.join(", ")}` : ""}${unsaid.length ? ` · missing: ${unsaid.map(words).join(", ")}` : ""}`}
    >
      <button
        type="button"
        className="lane-body"
        data-body={segment.id}
        aria-label={name}
        aria-pressed={isSelected}
        onClick={(event) => event.detail === 0 && bench.select({ id: segment.id, edge: "start" })}
      >
        <span className="lane-label">{words(segment.label)}</span>
        {isUnsure && <span className="lane-sure num"> {percent}</span>}
        {segment.confirmed && unsaid.length > 0 && (
          <span className="lane-unsaid" role="img" aria-label="something is missing">
            •
          </span>
        )}
      </button>
      {from >= 0 && (
        <span
          className="lane-handle lane-handle-start"
          data-edge="start"
          data-of={segment.id}
          aria-hidden
        />
      )}
      {!lane.tiles && to <= 100 && (
        <span
          className="lane-handle lane-handle-end"
          data-edge="end"
          data-of={segment.id}
          aria-hidden
        />
      )}
    </div>
  );
}
