import { expect, test } from "vitest";
import type { Joint, JointMotion, PoseTrack, RobotModel } from "../api/schema";
import { Figure } from "./figure";
import { atLimit } from "./limits";

function joint(name: string, more: Partial<Joint>): Joint {
  const facts = {
    name,
    type: "revolute",
    parent: "base",
    child: "arm",
    xyz: [0, 0, 1],
    rpy: [0, 0, 0],
    axis: [0, 1, 0],
  };
  return { ...facts, lower: -1, upper: 1, mimic: null, ...more } as Joint;
}

function model(joints: Joint[]): RobotModel {
  const names = ["base", ...joints.map((each) => each.child)];
  return {
    name: "toy",
    maker: null,
    base: "base",
    floating: true,
    joints,
    frames: [],
    groups: {},
    end_effectors: {},
    feet: {},
    links: names.map((name, n) => ({ name, shapes: [], mass: n ? 1 : 0, com: [0, 0, 0] })),
    standing: { height: 0.5, posture: {} },
    rest: { swing: 0.25 },
  };
}

const drive = (...joints: string[]): JointMotion => ({
  stream: "s",
  rate_hz: 100,
  width: joints.length,
  samples: 1,
  columns: joints.map((name, column) => ({ column, joint: name, factor: 1 })),
});

function place(figure: Figure, name: string): number[] {
  return (figure.poseOf(name)?.elements.slice(12, 15) ?? []).map(
    (value) => Math.round(value * 1e6) / 1e6 + 0,
  );
}

test("a joint turns what hangs on it about its axis", () => {
  const figure = new Figure(
    model([joint("swing", {}), joint("tip", { parent: "arm", child: "hand", xyz: [0, 0, 1] })]),
  );
  figure.pose(drive("swing"), Float32Array.of(Math.PI / 2));
  expect(place(figure, "arm")).toEqual([0, 0, 1.5]);
  expect(place(figure, "hand")).toEqual([1, 0, 1.5]);
});

test("roll, pitch and yaw are about fixed axes", () => {
  const figure = new Figure(
    model([
      joint("swing", { rpy: [Math.PI / 2, 0, Math.PI / 2] }),
      joint("tip", { parent: "arm", child: "hand", xyz: [0, 0, 1] }),
    ]),
  );
  figure.pose(drive("swing"), Float32Array.of(0));
  expect(place(figure, "hand")).toEqual([1, 0, 1.5]);
});

test("a sliding joint slides, and a follower follows", () => {
  const slide = joint("swing", { type: "prismatic", axis: [1, 0, 0] });
  const twin = joint("twin", {
    type: "prismatic",
    axis: [1, 0, 0],
    child: "other",
    mimic: { joint: "swing", multiplier: -2, offset: 0.1 },
  });
  const figure = new Figure(model([slide, twin]));
  figure.pose(drive("swing"), Float32Array.of(0.2));
  expect(place(figure, "arm")).toEqual([0.2, 0, 1.5]);
  expect(place(figure, "other")).toEqual([-0.3, 0, 1.5]);
});

test("a joint without a number is at rest, and a pose without one is refused", () => {
  const figure = new Figure(model([joint("swing", {})]));
  figure.pose(drive("swing"), Float32Array.of(Number.NaN));
  expect(figure.joints.get("swing")?.value).toBe(0.25);
  const track = { position: [0, 1, 2], quaternion: [3, 4, 5, 6] } as unknown as PoseTrack;
  expect(figure.place(track, Float32Array.of(1, 2, 3, 0, 0, 0, 0))).toBe(false);
  expect(figure.place(track, Float32Array.of(1, 2, 3, 2, 0, 0, 0))).toBe(true);
  expect(place(figure, "base")).toEqual([1, 2, 3]);
});

test("mimics that go in a circle do not hang the page", () => {
  const a = joint("a", { mimic: { joint: "b", multiplier: 1, offset: 0 } });
  const b = joint("b", { child: "other", mimic: { joint: "a", multiplier: 1, offset: 0 } });
  expect(() => new Figure(model([a, b]))).not.toThrow();
});

test("limits are told before and after they are reached", () => {
  expect(atLimit({ lower: -1, upper: 1 }, 0)).toBeNull();
  expect(atLimit({ lower: -1, upper: 1 }, 0.99)).toBe("warn");
  expect(atLimit({ lower: -1, upper: 1 }, -1.1)).toBe("bad");
  expect(atLimit({ lower: null, upper: null }, 100)).toBeNull();
});
