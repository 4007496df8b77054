// A list of any length: only what is in view exists.
import { type RefObject, useEffect, useImperativeHandle, useLayoutEffect, useRef } from "react";
import type { Layout } from "../../api/episodes";
import type { ListedEpisode } from "../../api/schema";
import { type Column, fitting } from "./columns";
import "./episode_list.css";
import { NarrowRow, TableHead, TableRow } from "./episode_table";
import { EpisodeTile } from "./episode_tile";
import type { RowList } from "./row_list";
import { storedPlace, useStoredPlace, useViewport } from "./use_viewport";

const headHeight = 34;
const narrow = 700;
const rowHeight = 57;
const narrowHeight = 89;
const tileWidth = 216;
const tileText = 92;
const gap = 10;
// Browsers cannot lay out a taller page.
const tallest = 15_000_000;
const beyond = 6;
const restMs = 40;

export interface ListControl {
  show: (place: number) => void;
  perLine: number;
  perPage: number;
}

interface Props {
  list: RowList;
  layout: Layout;
  columns: Column[];
  placeKey: string;
  current: number;
  selected: ReadonlyMap<string, ListedEpisode>;
  onOrder: (order: string) => void;
  onSelect: (row: ListedEpisode) => void;
  onTouch: (place: number) => void;
  control: RefObject<ListControl | null>;
}

export function EpisodeList({
  list,
  layout,
  columns: chosen,
  placeKey,
  current,
  control,
  ...rest
}: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const view = useViewport(scroller);
  const isNarrow = view.width < narrow;
  const isGrid = layout === "grid";
  const columns = view.width ? fitting(chosen, view.width) : chosen;
  const perLine = isGrid
    ? Math.max(isNarrow ? 2 : 1, Math.floor((view.width - 24 + gap) / (tileWidth + gap)))
    : 1;
  const tile = (view.width - 24 - gap * (perLine - 1)) / perLine;
  const line = isGrid
    ? Math.round((tile - 16) * 0.75) + tileText + gap
    : isNarrow
      ? narrowHeight
      : rowHeight;
  const head = isGrid || isNarrow ? 0 : headHeight;
  const lines = Math.min(Math.ceil(list.known / perLine), Math.floor(tallest / line));
  const first = Math.max(0, Math.floor((view.top - head) / line) - beyond);
  const last = Math.min(lines - 1, Math.ceil((view.top + view.height) / line) + beyond);
  useWanted(list, first * perLine, (last + 1) * perLine);
  useReturn(scroller, placeKey, list.total !== null && lines * line > 0);
  useStoredPlace(placeKey, { top: view.top, at: current });
  useImperativeHandle(control, () => ({
    perLine,
    perPage: Math.max(1, Math.floor((view.height - head) / line)) * perLine,
    show: (place) => {
      const element = scroller.current;
      if (!element) return;
      const top = Math.floor(place / perLine) * line;
      if (top < element.scrollTop) element.scrollTop = top;
      const bottom = top + line + head - element.clientHeight;
      if (bottom > element.scrollTop) element.scrollTop = bottom;
    },
  }));
  const shown = [];
  for (let number = first; number <= last; number += 1) shown.push(number);
  const part = { list, columns, current, isGrid, isNarrow, perLine, ...rest };
  return (
    <div
      ref={scroller}
      className="episode-list"
      role="grid"
      tabIndex={0}
      aria-label="Episodes"
      aria-rowcount={lines + 1}
      aria-multiselectable
      aria-activedescendant={list.row(current) ? `row-${current}` : undefined}
    >
      {head > 0 && <TableHead columns={columns} order={list.order} onOrder={rest.onOrder} />}
      <div className="episode-list-all" role="rowgroup" style={{ height: lines * line }}>
        {shown.map((number) => (
          <div
            key={number}
            className="episode-list-line"
            role={isGrid ? "row" : "presentation"}
            style={place(number * line, isGrid ? perLine : 0)}
          >
            <Line number={number} {...part} />
          </div>
        ))}
      </div>
    </div>
  );
}

function place(top: number, perLine: number): React.CSSProperties {
  const tiles = perLine
    ? { gridTemplateColumns: `repeat(${perLine}, 1fr)`, padding: `${gap}px 12px 0`, gap }
    : {};
  return { transform: `translateY(${top}px)`, ...tiles };
}

type LineProps = Pick<
  Props,
  "list" | "columns" | "current" | "selected" | "onSelect" | "onTouch"
> & {
  number: number;
  isGrid: boolean;
  isNarrow: boolean;
  perLine: number;
};

function Line({
  number,
  list,
  columns,
  current,
  selected,
  isGrid,
  isNarrow,
  perLine,
  onSelect,
  onTouch,
}: LineProps) {
  const propsOf = (place: number) => {
    const row = list.row(place);
    const isSelected = row !== undefined && selected.has(row.id);
    return { row, place, isCurrent: place === current, isSelected, onSelect, onTouch };
  };
  if (!isGrid) {
    const props = propsOf(number);
    return isNarrow ? <NarrowRow {...props} /> : <TableRow {...props} columns={columns} />;
  }
  const tiles = [];
  for (
    let place = number * perLine;
    place < Math.min((number + 1) * perLine, list.known);
    place += 1
  ) {
    tiles.push(<EpisodeTile key={place} {...propsOf(place)} />);
  }
  return tiles;
}

/** Ask for the rows in view once they rest there: those that fly past are not fetched. */
function useWanted(list: RowList, first: number, last: number): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version of the list lacks other rows
  useEffect(() => {
    const timer = setTimeout(() => list.want(first, last), restMs);
    return () => clearTimeout(timer);
  }, [list, list.version, first, last]);
}

/** Scroll to where this list was last left, as soon as it is long enough. */
function useReturn(scroller: RefObject<HTMLDivElement | null>, key: string, isLong: boolean): void {
  const done = useRef<string | null>(null);
  useLayoutEffect(() => {
    if (!isLong || done.current === key || !scroller.current) return;
    done.current = key;
    scroller.current.scrollTop = storedPlace(key).top;
  }, [key, isLong, scroller]);
}
