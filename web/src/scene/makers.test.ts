import { Vector3 } from "three";
import { expect, test } from "vitest";
import type { LinkFacts, RobotModel, Shape } from "../api/schema";
import { fingerBone, hand, isFinger, shoe } from "./hands_and_feet";
import { loft } from "./loft";
import { extentOf, makerOf } from "./makers";
import { painted } from "./shapes";

const head = { type: "capsule", size: [0.06, 0.06], xyz: [0, 0, 0.4], rpy: [0, 0, 0] } as Shape;

function extent(parts: { computeBoundingBox: () => void; boundingBox: unknown }[]) {
  return parts.map((part) => {
    part.computeBoundingBox();
    return part.boundingBox as { min: Vector3; max: Vector3 };
  });
}

test("every maker has a head of its own, and nobody else is given one", () => {
  const names = ["g1", "g1_23dof", "h1", "gr1", "walker_s2"];
  expect(names.map((name) => makerOf({ name })).includes(null)).toBe(false);
  expect(makerOf({ name: "g1" })).toBe(makerOf({ name: "g1_23dof" }));
  expect(makerOf({ name: "g10" })).toBeNull();
  expect(makerOf({ name: "aloha" })).toBeNull();
  const heads = ["g1", "h1", "gr1", "walker_s2"].map((name) =>
    (makerOf({ name })?.head(head) ?? []).map((part) => part.getAttribute("position").count).join(),
  );
  expect(new Set(heads).size).toBe(4);
  expect(makerOf({ name: "h1" })?.hasFingers).toBe(false);
});

test("a head is drawn about the place of its shape, with all that a merge needs", () => {
  for (const name of ["g1", "h1", "gr1", "walker_s2"]) {
    const parts = makerOf({ name })?.head(head) ?? [];
    const boxes = extent(parts);
    expect(Math.max(...boxes.map(({ max }) => max.z))).toBeGreaterThan(0.45);
    expect(Math.max(...boxes.map(({ max }) => max.z))).toBeLessThan(0.55);
    for (const part of parts) {
      expect(Object.keys(part.attributes).sort()).toEqual(["color", "normal", "position"]);
      expect(part.index).toBeNull();
    }
  }
});

test("a skin is closed and faces outwards along either axis", () => {
  for (const axis of ["x", "z"] as const) {
    const skin = loft(
      [
        { at: -1, deep: 0.5, wide: 0.5 },
        { at: 1, deep: 0.5, wide: 0.5 },
      ],
      2,
      axis,
    ).toNonIndexed();
    const at = skin.getAttribute("position");
    let volume = 0;
    for (let n = 0; n < at.count; n += 3) {
      const [a, b, c] = [n, n + 1, n + 2].map((k) => new Vector3().fromBufferAttribute(at, k)) as [
        Vector3,
        Vector3,
        Vector3,
      ];
      volume += a.dot(b.cross(c)) / 6;
    }
    expect(volume).toBeCloseTo(Math.PI * 0.25 * 2, 1);
  }
});

test("a shoe stands flat where its sole was, and a hand has four fingers and a thumb", () => {
  const box = {
    type: "box",
    size: [0.2, 0.07, 0.03],
    xyz: [0.04, 0, -0.02],
    rpy: [0, 0, 0],
  } as Shape;
  const colour = painted(
    loft([
      { at: 0, deep: 1, wide: 1 },
      { at: 1, deep: 1, wide: 1 },
    ]),
    makerColour(),
  );
  expect(colour.getAttribute("color").count).toBeGreaterThan(0);
  const [shape] = extent([shoe(box, makerColour())]);
  expect(shape?.min.z).toBeCloseTo(-0.035, 3);
  expect(shape?.max.x).toBeCloseTo(0.14, 3);
  expect(hand(box, 1, makerColour())).toHaveLength(6);
});

test("fingers go to their next joint, and the last bone as far again", () => {
  const joint = (name: string, parent: string, child: string, xyz: number[]) =>
    ({ name, parent, child, xyz, rpy: [0, 0, 0], type: "revolute", axis: [0, 1, 0] }) as unknown;
  const model = {
    joints: [
      joint("a", "palm", "left_index_proximal_link", [0, 0, -0.06]),
      joint("b", "left_index_proximal_link", "left_index_distal_link", [0, 0, -0.04]),
    ],
  } as unknown as RobotModel;
  const bone = (name: string) =>
    fingerBone({ name, shapes: [], mass: null, com: null } as LinkFacts, model, makerColour());
  const [first] = extent(bone("left_index_proximal_link"));
  expect(first?.min.z).toBeLessThan(-0.04);
  expect(bone("left_index_distal_link")).toHaveLength(1);
  expect(isFinger({ name: "left_thumb_rotation_link" })).toBe(true);
  expect(isFinger({ name: "left_wrist_link" })).toBe(false);
  expect(extentOf([head]).high.z).toBeCloseTo(0.49, 5);
});

function makerColour() {
  const maker = makerOf({ name: "g1" });
  if (!maker) throw new Error("g1 has a maker");
  return maker.shell;
}
