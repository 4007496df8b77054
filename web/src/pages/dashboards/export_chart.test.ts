import { expect, test } from "vitest";
import { rowsOf, toCsv } from "./export_chart";

test("numbers leave as they are, and no cell becomes a formula or a second line", () => {
  const rows = rowsOf({
    kind: "bars",
    unit: "share",
    name: "share",
    limit: null,
    limit_label: "",
    bars: [
      { label: '=HYPERLINK("x")', value: 1 / 3, detail: "", tone: "plain", query: "task = a" },
      { label: "two, lines\nhere", value: 0, detail: "", tone: "plain", query: null },
    ],
  });
  expect(toCsv(rows)).toBe(
    'label,share,query\r\n"\'=HYPERLINK(""x"")",0.3333333333333333,task = a\r\n"two, lines\nhere",0,\r\n',
  );
});

test("of a line every point has its limits and when it was", () => {
  const [head, first] = rowsOf({
    kind: "line",
    unit: "share",
    name: "acceptance",
    target: null,
    points: [
      {
        label: "b1",
        at: "2026-01-01T00:00:00Z",
        value: 0.5,
        size: 10,
        lower: 0.25,
        upper: null,
        state: "within",
        detail: "",
        query: "batch = b1",
      },
    ],
  });
  expect(head?.length).toBe(first?.length);
  expect(first).toEqual([
    "b1",
    "2026-01-01T00:00:00Z",
    0.5,
    10,
    0.25,
    null,
    "within",
    "batch = b1",
  ]);
});
