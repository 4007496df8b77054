import { expect, test } from "vitest";
import { columns, fitting, usualColumns } from "./columns";

const usual = columns.filter(({ name }) => usualColumns.includes(name));
const names = (widthPx: number) => fitting(usual, widthPx).map(({ name }) => name);

test("in a narrow window the verdict and its cause stay in sight", () => {
  expect(names(1400)).toEqual(usualColumns);
  expect(names(820)).toEqual(expect.arrayContaining(["verdict", "score", "finding"]));
  expect(names(820)).not.toContain("instruction");
  expect(names(300)).toContain("finding");
});

test("columns that somebody has chosen all stay", () => {
  const chosen = columns.slice(0, 4);
  expect(fitting(chosen, 200)).toEqual(chosen);
});
