import { Vector3 } from "three";
import { expect, test } from "vitest";
import { missedPlaces } from "./goal_marks";
import { limbMatrix } from "./person_body";
import { distance } from "./viewpoint";

test("a limb reaches from one point to the other, as thick as it is told", () => {
  const from = new Vector3(1, 2, 3);
  const to = new Vector3(1, 2, 1);
  const matrix = limbMatrix(from, to, 0.1);
  expect(new Vector3(0, 0, 0).applyMatrix4(matrix).distanceTo(from)).toBeCloseTo(0);
  expect(new Vector3(0, 0, 1).applyMatrix4(matrix).distanceTo(to)).toBeCloseTo(0);
  expect(new Vector3(1, 0, 0).applyMatrix4(matrix).distanceTo(from)).toBeCloseTo(0.1);
});

test("two points in one place make no numbers that are none", () => {
  const matrix = limbMatrix(new Vector3(1, 1, 1), new Vector3(1, 1, 1), 0.1);
  expect(matrix.elements.every(Number.isFinite)).toBe(true);
});

test("what is over 5 cm from its goal is marked, where the robot has the place", () => {
  expect(missedPlaces(["a", null, "c", "d"], [0.06, 0.2, 0.05, Number.NaN])).toEqual(["a"]);
  expect(missedPlaces(["a"], [])).toEqual([]);
});

test("a wide pair in a narrow picture is looked at from farther away", () => {
  const one = distance({ height: 1.4, width: 1 }, 32, 1);
  expect(distance({ height: 1.4, width: 2.8 }, 32, 1)).toBeCloseTo(2 * one);
  expect(distance({ height: 1.4, width: 2.8 }, 32, 2)).toBeCloseTo(one);
});
