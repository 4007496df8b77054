import { expect, test } from "vitest";
import { bestGrid, cellColumn } from "./camera_grid";

test("five pictures in two rows: the two of the last row stand in the middle", () => {
  expect(bestGrid(5, 900, 450, 4 / 3)).toEqual({ columns: 3, rows: 2 });
  const places = [0, 1, 2, 3, 4].map((place) => cellColumn(place, 5, 3));
  expect(places).toEqual(["span 2", "span 2", "span 2", "2 / span 2", "span 2"]);
});

test("full rows need no moving", () => {
  expect([0, 1, 2, 3].map((place) => cellColumn(place, 4, 2))).toEqual(Array(4).fill("span 2"));
});
