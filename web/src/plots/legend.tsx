import { type RefObject, useEffect, useRef } from "react";
import type { Clock } from "../player/clock";
import { columnNames, columnUnits, shortName } from "./column_groups";
import type { Painter, Reading } from "./painter";
import { valueText } from "./scale";
import type { ViewWindow } from "./window";

const tellings = ["commanded", "measured", "error"] as const;
const EVERY_MS = 90;
const SETTLED_MS = 160;

export interface LegendProps {
  painter: RefObject<Painter | null>;
  columns: number[];
  group: string;
  hidden: ReadonlySet<number>;
  hasCommands: boolean;
  clock: Clock;
  view: ViewWindow;
  onToggle: (column: number, alone: boolean) => void;
  stream: Parameters<typeof columnNames>[0];
  /** Changes when other samples have come. */
  turn: number;
}

/** The lines by name, each with its value at the pointer, else at the clock. */
export function Legend({
  painter,
  columns,
  group,
  hidden,
  hasCommands,
  clock,
  view,
  onToggle,
  stream,
  turn,
}: LegendProps) {
  const list = useRef<HTMLUListElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other lines or samples are other values
  useEffect(() => {
    const write = () => writeValues(list.current, painter.current, view.hoverNs ?? clock.timeNs);
    let last = 0;
    let later = 0;
    let settled = 0;
    let control = new AbortController();
    const settle = () => {
      const time = view.hoverNs ?? clock.timeNs;
      // Readings in plain sight do without; an answer that does not come leaves the extremes.
      void painter.current?.readExactly(time, control.signal).then(write, () => undefined);
    };
    const change = () => {
      clearTimeout(later);
      clearTimeout(settled);
      control.abort();
      control = new AbortController();
      const wait = EVERY_MS - (performance.now() - last);
      const run = () => {
        last = performance.now();
        write();
      };
      if (wait <= 0) run();
      else later = window.setTimeout(run, wait);
      if (!clock.isPlaying) settled = window.setTimeout(settle, SETTLED_MS);
    };
    const stops = [
      clock.subscribe(change),
      clock.subscribeState(change),
      view.subscribeHover(change),
    ];
    return () => {
      for (const stop of stops) stop();
      clearTimeout(later);
      clearTimeout(settled);
      control.abort();
    };
  }, [clock, view, painter, columns, hidden, turn]);
  const names = columnNames(stream);
  const units = columnUnits(stream);
  return (
    <ul className="plot-legend" ref={list} aria-label={`Lines of ${stream.name}`}>
      {hasCommands && (
        <li className="plot-legend-head" aria-hidden>
          <span />
          <span title="Commanded; dashed in the plot">cmd ┄</span>
          <span title="What the robot measured">meas</span>
          <span title="Commanded less measured">error</span>
        </li>
      )}
      {columns.map((column, place) => (
        <li key={column} className={hasCommands ? "has-commands" : ""}>
          <button
            type="button"
            className="quiet"
            aria-pressed={!hidden.has(column)}
            title={`${names[column]}. Click to hide or show; double click to show it alone`}
            onClick={() => onToggle(column, false)}
            onDoubleClick={() => onToggle(column, true)}
          >
            <i style={{ background: `var(--line-${(place % 10) + 1})` }} />
            <span>{shortName(names[column] as string, group)}</span>
          </button>
          {(hasCommands ? tellings : tellings.slice(1, 2)).map((of) => (
            <output
              key={of}
              className="num"
              data-column={column}
              data-of={of}
              data-unit={units[column]}
            />
          ))}
        </li>
      ))}
    </ul>
  );
}

/** Straight into the page: values change with every picture, the list does not. */
function writeValues(list: HTMLElement | null, painter: Painter | null, timeNs: number): void {
  if (!list || !painter) return;
  for (const output of list.querySelectorAll<HTMLOutputElement>("output")) {
    const { column, of } = output.dataset;
    const reading = painter.read(Number(column), timeNs, of as (typeof tellings)[number]);
    const text = readingText(reading);
    if (output.textContent !== text) output.textContent = text;
    output.title =
      reading && !reading.isExact
        ? "Between these extremes; stop to read the exact value"
        : (output.dataset.unit ?? "");
  }
}

function readingText(reading: Reading | null): string {
  if (!reading) return "–";
  if (reading.isExact || reading.low === reading.high) return valueText(reading.low);
  return `${valueText(reading.low)}…${valueText(reading.high)}`;
}
