import { describe, expect, it } from "vitest";
import { asTable } from "./as_table";

describe("a chart as a table", () => {
  it("tells limits and judgement of every batch, and where its episodes are", () => {
    const made = asTable({
      kind: "line",
      unit: "share",
      name: "acceptance rate",
      target: 0.9,
      points: [
        {
          label: "b7",
          at: "2026-11-01",
          value: 0.7,
          size: 20,
          lower: 0.8,
          upper: null,
          state: "out",
          detail: "",
          query: "batch = b7",
        },
      ],
    });
    expect(made.rows).toEqual([
      {
        cells: ["b7", "70 %", "80 %", "not known", "out of limits"],
        href: "/episodes?query=batch%20%3D%20b7",
      },
    ]);
  });

  it("has a row for each cell of a heat table", () => {
    const cell = {
      value: 0,
      text: "",
      detail: "none; collect this next",
      empty: true,
      query: null,
    };
    const made = asTable({
      kind: "heat",
      row_name: "task",
      column_name: "object",
      rows: ["reach"],
      columns: ["red box", "ball"],
      cells: [[cell, cell]],
      most: 1,
      tone: "good",
      as_lines: false,
      empty_means: "",
    });
    expect(made.rows.map((each) => each.cells[1])).toEqual(["red box", "ball"]);
    expect(made.rows[0]?.href).toBeNull();
  });
});
