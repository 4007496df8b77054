import { expect, test } from "vitest";
import { bodyOf, seenPoints, TAPER } from "./skeleton";

const limbs = ["hip", "knee", "ankle", "heel", "toe", "shoulder", "elbow", "wrist", "hand"];
const names = [
  "pelvis",
  "spine",
  "chest",
  "neck",
  "head",
  ...["left", "right"].flatMap((side) => limbs.map((limb) => `${side}_${limb}`)),
];

function joined(unseen: string[] = []): string[] {
  const { bones } = bodyOf(
    names,
    names.map((name) => !unseen.includes(name)),
  );
  return bones.map(({ from, to }) => `${names[from]} ${names[to]}`);
}

test("a whole person has every limb once, and both sides alike", () => {
  const found = joined();
  expect(new Set(found).size).toBe(found.length);
  expect(found).toContain("left_elbow left_wrist");
  const sideOf = (side: string) =>
    found.filter((bone) => bone.includes(side)).map((bone) => bone.replaceAll(side, ""));
  expect(sideOf("left_")).toEqual(sideOf("right_"));
  expect(names.every((name) => found.some((bone) => bone.split(" ").includes(name)))).toBe(true);
});

test("a joint that is not seen takes its limbs with it, and no limb jumps over it", () => {
  const found = joined(["left_elbow"]);
  expect(found.some((bone) => bone.includes("left_elbow"))).toBe(false);
  expect(found).not.toContain("left_shoulder left_wrist");
  expect(found).toContain("left_wrist left_hand");
  expect(found).toContain("right_shoulder right_elbow");
  const { balls } = bodyOf(
    names,
    names.map((name) => name !== "left_elbow"),
  );
  expect(balls.some(({ at }) => names[at] === "left_elbow")).toBe(false);
});

test("the trunk holds together without its middle", () => {
  const found = joined(["spine", "chest"]);
  expect(found).toContain("pelvis neck");
  expect(found).toContain("pelvis left_shoulder");
});

test("an end is as round as the thickest limb there", () => {
  const { bones, balls } = bodyOf(
    names,
    names.map(() => true),
  );
  const knee = names.indexOf("left_knee");
  const radii = bones.flatMap(({ from, to, radius }) =>
    from === knee ? [radius] : to === knee ? [TAPER * radius] : [],
  );
  expect(radii).toHaveLength(2);
  expect(balls.find(({ at }) => at === knee)?.radius).toBe(Math.max(...radii));
});

test("points of other names are seen as dots", () => {
  const { bones, balls } = bodyOf(["a", "b", "c"], [true, false, true]);
  expect(bones).toEqual([]);
  expect(balls.map(({ at }) => at)).toEqual([0, 2]);
});

test("a point is seen with numbers and a confidence over zero", () => {
  const points = [0, 0, 0, 1, 2, 3, Number.NaN, 0, 0];
  expect(seenPoints(points, [0, 0.5, 1])).toEqual([false, true, false]);
  expect(seenPoints(points, null)).toEqual([true, true, false]);
  expect(seenPoints(points, [])).toEqual([false, false, false]);
});
