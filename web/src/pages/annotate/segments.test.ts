import { expect, test } from "vitest";
import type { Step } from "../../api/annotation";
import type { Annotation, EventFacts, LabelLane, Segment } from "../../api/schema";
import { nextOpen, stopsOf } from "./boundary_stops";
import { apply } from "./edit";
import given from "./edit_cases.json";
import { FrameLine, snapped } from "./frame_line";
import {
  beginAt,
  draw,
  inLane,
  mergeNext,
  moveEdge,
  newSegment,
  relabel,
  remove,
  rowsOf,
  split,
} from "./segments";

const blank = given.blank as unknown as Annotation;
// Frames that are not evenly spaced: 0, 33, 67, 100, 133, 167, ...
const line = new FrameLine(
  Array.from({ length: 30 }, (_, frame) => Math.round((frame * 100) / 3)),
  1000,
);
const label = (name: string, attributes: string[] = []) => ({
  name,
  attributes,
  definition: "",
  parent: null,
  starts: null,
  ends: null,
  examples: [],
  not_this: [],
  optional: [],
  parts: [],
  was: [],
  key: null,
});
const phases: LabelLane = {
  name: "phase",
  kind: "phase",
  title: "Phases",
  tiles: true,
  level: null,
  labels: [label("rest"), label("reach", ["hand"]), label("grasp", ["hand", "object"])],
};
const marks: LabelLane = {
  name: "quality",
  kind: "quality",
  title: "Quality",
  tiles: false,
  level: null,
  labels: [label("regrasp")],
};
const tiled: Annotation = {
  ...blank,
  segments: [
    newSegment("a", "phase", "rest", 0, 300),
    newSegment("b", "phase", "reach", 300, 600),
    newSegment("c", "phase", "grasp", 600, 1000),
  ],
};
const seen = (content: Annotation, lane = "phase") =>
  inLane(content, lane).map((each) => [each.label, each.start_ns, each.end_ns]);
const done = (content: Annotation, steps: Step[]) => apply(content, { steps });
const of = (content: Annotation, id: string) =>
  content.segments.find((each) => each.id === id) as Segment;
let count = 0;
const id = () => {
  count += 1;
  return `new${count}`;
};

test("times and frames lead to each other, and the end of the last frame counts", () => {
  expect([0, 33, 34, 66, 67, 999, 1000].map((time) => line.frameOf(time))).toEqual([
    0, 1, 1, 1, 2, 29, 30,
  ]);
  expect(line.nearest(51)).toBe(67);
  expect(line.nearest(40)).toBe(33);
  expect(line.moved(33, 1)).toBe(67);
  expect(line.moved(0, -1)).toBe(0);
  expect(line.showing(34)).toBe(67);
  expect(line.showing(67)).toBe(67);
});

test("moving a boundary moves it for both neighbours", () => {
  const after = done(tiled, moveEdge(tiled, phases, of(tiled, "b"), "start", 340, line));
  expect(seen(after)).toEqual([
    ["rest", 0, 333],
    ["reach", 333, 600],
    ["grasp", 600, 1000],
  ]);
});

test("a boundary stops one frame before the next", () => {
  const late = done(tiled, moveEdge(tiled, phases, of(tiled, "b"), "start", 900, line));
  expect(of(late, "b").start_ns).toBe(567);
  const early = done(tiled, moveEdge(tiled, phases, of(tiled, "b"), "start", -50, line));
  expect(of(early, "b").start_ns).toBe(33);
});

test("the last end can reach the end of the last frame", () => {
  const short = done(tiled, moveEdge(tiled, phases, of(tiled, "c"), "end", 900, line));
  expect(
    of(done(short, moveEdge(short, phases, of(short, "c"), "end", 1200, line)), "c").end_ns,
  ).toBe(1000);
});

test("a label key in the middle of a phase begins another there", () => {
  const after = done(tiled, beginAt(tiled, phases, "grasp", 400, "n", line));
  expect(seen(after)).toEqual([
    ["rest", 0, 300],
    ["reach", 300, 400],
    ["grasp", 400, 600],
    ["grasp", 600, 1000],
  ]);
});

test("an empty lane is filled to the end, one key per boundary", () => {
  let now = done(blank, beginAt(blank, phases, "rest", 0, "x", line));
  now = done(now, beginAt(now, phases, "reach", 333, "y", line));
  expect(seen(now)).toEqual([
    ["rest", 0, 333],
    ["reach", 333, 1000],
  ]);
});

test("splitting keeps both halves, merging undoes it", () => {
  const halves = done(tiled, split(of(tiled, "b"), 400, "n"));
  expect(seen(halves)).toHaveLength(4);
  expect(seen(done(halves, mergeNext(halves, phases, of(halves, "b"))))).toEqual(seen(tiled));
  expect(split(of(tiled, "b"), 300, "n")).toEqual([]);
});

test("what is taken away leaves no gap in a lane that tiles", () => {
  expect(seen(done(tiled, remove(tiled, phases, of(tiled, "b"))))).toEqual([
    ["rest", 0, 600],
    ["grasp", 600, 1000],
  ]);
  expect(seen(done(tiled, remove(tiled, phases, of(tiled, "a"))))).toEqual([
    ["reach", 0, 600],
    ["grasp", 600, 1000],
  ]);
});

test("drawing over phases trims, splits and covers them", () => {
  expect(seen(done(tiled, draw(tiled, phases, "grasp", 200, 700, id)))).toEqual([
    ["rest", 0, 200],
    ["grasp", 200, 700],
    ["grasp", 700, 1000],
  ]);
  expect(seen(done(tiled, draw(tiled, phases, "grasp", 33, 100, id)))).toEqual([
    ["rest", 0, 33],
    ["grasp", 33, 100],
    ["rest", 100, 300],
    ["reach", 300, 600],
    ["grasp", 600, 1000],
  ]);
});

test("marks that do not tile keep to their gap", () => {
  const one = done(blank, draw(blank, marks, "regrasp", 100, 200, id));
  const two = done(one, draw(one, marks, "regrasp", 33, 500, id));
  expect(seen(two, "quality")).toEqual([
    ["regrasp", 33, 100],
    ["regrasp", 100, 200],
  ]);
});

test("another label keeps what it asks for too", () => {
  const grasp = { ...of(tiled, "c"), attributes: { hand: "left", object: "box" } };
  expect(relabel(grasp, "reach", phases)).toEqual([
    { put: { ...grasp, label: "reach", attributes: { hand: "left" } } },
  ]);
});

test("snapping takes the frame that shows the nearest event, within reach only", () => {
  const event = (time_ns: number): EventFacts => ({
    time_ns,
    name: "contact_begins",
    side: "",
    stream: "",
    confidence: 1,
    uncertainty_ns: 0,
  });
  const events = [event(210), event(505)];
  expect(snapped(240, events, line, 40)?.time_ns).toBe(210);
  expect(snapped(300, events, line, 40)).toBeNull();
});

test("verifying goes from one unconfirmed boundary to the next and ends", () => {
  const open = {
    ...tiled,
    segments: tiled.segments.map((each) => ({ ...each, confirmed: each.id === "b" })),
  };
  const stops = stopsOf(open, { lanes: [phases, marks] } as never);
  expect(nextOpen(stops, null)?.id).toBe("a");
  expect(nextOpen(stops, { id: "a", edge: "start" })?.id).toBe("c");
  const all = { ...tiled, segments: tiled.segments.map((each) => ({ ...each, confirmed: true })) };
  expect(nextOpen(stopsOf(all, { lanes: [phases] } as never), null)).toBeNull();
});

test("a hand that holds can strike something: contacts of two labels meet, each in its own row", () => {
  const touch: LabelLane = {
    ...marks,
    name: "left_contact",
    kind: "contact",
    labels: [label("holds"), label("presses"), label("bumps")],
  };
  const hold = newSegment("h", "left_contact", "holds", 100, 800);
  const held: Annotation = { ...blank, segments: [hold] };
  const both = done(held, beginAt(held, touch, "bumps", 300, "b", line));
  const bump = of(both, "b");
  expect([bump.start_ns < hold.end_ns, bump.label]).toEqual([true, "bumps"]);
  expect(of(both, "h")).toEqual(hold);
  expect([...rowsOf(touch, both.segments)]).toEqual([
    ["holds", 0],
    ["bumps", 1],
  ]);
  expect([...rowsOf(touch, [hold]).values()]).toEqual([0]);
  expect(beginAt(both, touch, "holds", 400, "again", line)).toEqual([]);
  expect(done(both, moveEdge(both, touch, bump, "end", 700, line)).segments).toHaveLength(2);
});
