// Every chart is also a table: for those who read it aloud, copy it, or want the exact numbers.
import { browseAddress, type Payload } from "../../api/dashboards";
import { readingOf, shown } from "./scale";

export interface PlainRow {
  cells: string[];
  href: string | null;
}

export interface PlainTable {
  columns: string[];
  rows: PlainRow[];
}

export function asTable(payload: Payload): PlainTable {
  switch (payload.kind) {
    case "line": {
      const reading = readingOf(
        payload.unit,
        Math.max(...payload.points.map((each) => each.value), 0),
      );
      const limit = (value: number | null) =>
        value === null ? "not known" : shown(value, reading);
      return {
        columns: ["Batch", payload.name, "Lower limit", "Upper limit", "Judged"],
        rows: payload.points.map((each) => ({
          cells: [
            each.label,
            shown(each.value, reading),
            limit(each.lower),
            limit(each.upper),
            judged[each.state],
          ],
          href: browseAddress(each.query),
        })),
      };
    }
    case "bars": {
      const reading = readingOf(
        payload.unit,
        Math.max(...payload.bars.map((each) => each.value), 0),
      );
      return {
        columns: ["", payload.name],
        rows: payload.bars.map((each) => ({
          cells: [each.label, shown(each.value, reading)],
          href: browseAddress(each.query),
        })),
      };
    }
    case "stacked":
      return {
        columns: ["", "Part", "What it is"],
        rows: payload.stacks.flatMap((stack) =>
          stack.segments.map((each) => ({
            cells: [stack.label, each.name, each.detail],
            href: browseAddress(each.query),
          })),
        ),
      };
    case "heat":
      return {
        columns: [payload.row_name, payload.column_name, "What it is"],
        rows: payload.cells.flatMap((line, r) =>
          line.map((each, c) => ({
            cells: [payload.rows[r] ?? "", payload.columns[c] ?? "", each.detail],
            href: browseAddress(each.query),
          })),
        ),
      };
    case "histogram":
      return {
        columns: [payload.name, "Episodes"],
        rows: payload.bins.map((each) => ({
          cells: [
            `${each.low.toFixed(2)} to ${each.high.toFixed(2)}`,
            each.count.toLocaleString("en-GB"),
          ],
          href: browseAddress(each.query),
        })),
      };
    case "table":
      return {
        columns: payload.columns,
        rows: payload.rows.map((each) => ({
          cells: each.cells,
          href: each.address ?? browseAddress(each.query),
        })),
      };
    case "figures":
      return {
        columns: ["", "Value", "Made of"],
        rows: payload.figures.map((each) => ({
          cells: [each.label, each.value, each.detail],
          href: browseAddress(each.query),
        })),
      };
  }
}

const judged = {
  reference: "set the limits",
  within: "within",
  out: "out of limits",
  unknown: "unchecked",
};
