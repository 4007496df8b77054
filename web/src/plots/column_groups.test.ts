import { expect, it } from "vitest";
import type { EpisodeStream } from "../api/schema";
import { columnNames, groupsOf, limbOf, shortName } from "./column_groups";

function stream(part: Partial<EpisodeStream>): EpisodeStream {
  return {
    path: "observations/x",
    group: "observations",
    name: "x",
    kind: "array",
    dtype: "float32",
    shape: [1],
    rate_hz: 100,
    unit: "1",
    frame: null,
    components: null,
    placement: "robot",
    description: null,
    samples: 10,
    first_ns: 0,
    last_ns: 9,
    ...part,
  } as EpisodeStream;
}

it("finds the limb of a joint", () => {
  expect(limbOf("left_shoulder_pitch_joint")).toBe("left arm");
  expect(limbOf("right_ankle_roll_joint")).toBe("right leg");
  expect(limbOf("waist_yaw_joint")).toBe("waist");
  expect(limbOf("L_thumb_0")).toBe("left hand");
});

it("groups many joints by limb, with all of them last", () => {
  const components = ["left", "right"].flatMap((side) =>
    ["hip_pitch", "knee", "shoulder_roll", "elbow", "wrist_yaw"].map(
      (name) => `${side}_${name}_joint`,
    ),
  );
  const groups = groupsOf(stream({ name: "joint_position", shape: [10], components, unit: "rad" }));
  expect(groups.map((each) => each.name)).toEqual([
    "left leg",
    "left arm",
    "right leg",
    "right arm",
    "all",
  ]);
  expect(groups[1]?.columns).toEqual([2, 3, 4]);
});

it("groups by unit where there are several", () => {
  const groups = groupsOf(
    stream({
      shape: [6],
      unit: ["N", "N", "N", "N m", "N m", "N m"],
      components: ["fx", "fy", "fz", "tx", "ty", "tz"],
    }),
  );
  expect(groups.map((each) => each.columns)).toEqual([
    [0, 1, 2],
    [3, 4, 5],
    [0, 1, 2, 3, 4, 5],
  ]);
});

it("sums up a map and cuts a long vector into eights", () => {
  expect(columnNames(stream({ shape: [16, 16] }))).toEqual(["sum", "max"]);
  const groups = groupsOf(stream({ shape: [100] }));
  expect(groups[0]?.columns).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(groups.at(-1)?.columns.length).toBe(64);
});

it("shortens a name by what its group says already", () => {
  expect(shortName("left_shoulder_pitch_joint", "left arm")).toBe("shoulder pitch");
  expect(shortName("fx", "N")).toBe("fx");
});

it("joints in two units stay limbs, and names of another hand are read", () => {
  const components = ["left_elbow_joint", "right_elbow_joint", "kLeftHandPinky", "kRightHandIndex"];
  const unit = ["rad", "rad", "1", "1"];
  const names = groupsOf(stream({ shape: [4], components, unit })).map((each) => each.name);
  expect(names).toEqual(["left arm", "right arm", "left hand", "right hand", "all"]);
  expect(shortName("kLeftHandPinky", "left hand")).toBe("pinky");
});
