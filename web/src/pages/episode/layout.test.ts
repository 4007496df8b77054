import { expect, test } from "vitest";
import {
  added,
  layoutText,
  moved,
  type PanelName,
  panelNames,
  panelsIn,
  placed,
  presets,
  readLayout,
  rectsOf,
  resized,
  usualLayout,
  without,
} from "./layout";

function areaOf(layout: Parameters<typeof rectsOf>[0]): number {
  return [...rectsOf(layout).panels.values()].reduce((sum, r) => sum + r.width * r.height, 0);
}

test("panels fill the board, however they are moved, taken away and put back", () => {
  let layout = usualLayout;
  for (const name of panelNames)
    for (const edge of ["left", "top", "right", "bottom"] as const)
      for (const target of panelNames) {
        layout = placed(layout, name, edge, target);
        expect([...panelsIn(layout)].sort()).toEqual([...panelNames].sort());
        expect(areaOf(layout)).toBeCloseTo(1, 6);
      }
  const less = without(layout, ["plots", "details"]);
  expect(less && areaOf(less)).toBeCloseTo(1, 6);
  const again = less && added(added(less, "details"), "plots");
  expect(again && panelsIn(again).length).toBe(4);
});

test("a panel moved to the left stands before its neighbour, and stays at the edge", () => {
  const order = (layout: typeof usualLayout, a: PanelName, b: PanelName) => {
    const { panels } = rectsOf(layout);
    return (panels.get(a)?.left ?? 0) < (panels.get(b)?.left ?? 0);
  };
  expect(order(usualLayout, "cameras", "robot")).toBe(true);
  const swapped = moved(usualLayout, "robot", "left");
  expect(order(swapped, "robot", "cameras")).toBe(true);
  expect(moved(swapped, "robot", "left")).toEqual(swapped);
  expect(moved(usualLayout, "details", "right")).toEqual(usualLayout);
});

test("a bar moves what is on either side of it, and neither away", () => {
  const wide = resized(usualLayout, [], 0, 5);
  const shares = typeof wide === "string" ? [] : wide.shares;
  expect(shares[1]).toBeCloseTo(0.08, 6);
  const { bars } = rectsOf(usualLayout);
  expect(bars).toHaveLength(3);
});

test("what was kept is read again, and nonsense is not", () => {
  for (const { layout } of Object.values(presets))
    expect(readLayout(layoutText(layout))).toEqual(layout);
  for (const wrong of [
    null,
    "",
    "{}",
    '"sofa"',
    '{"lies":"row","parts":["plots","plots"],"shares":[0.5,0.5]}',
    "[".repeat(3000),
  ])
    expect(readLayout(wrong)).toBeNull();
});
