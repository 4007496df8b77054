import { Matrix4, Quaternion, Vector3 } from "three";
import { describe, expect, it } from "vitest";
import { HeadsetInput, poseOfMatrix } from "./headset_input";

const upright = { x: 0, y: 0, z: 0, w: 1 };

function placed(x: number) {
  return {
    transform: { position: { x, y: 1, z: -0.5 }, orientation: upright },
    emulatedPosition: x < 0,
    radius: 0.008,
  };
}

/** As much of a browser's headset as an adapter looks at; the real one is driven in tests/studio. */
function headset() {
  const spaces = Array.from({ length: 25 }, (_, at) => ({ at }));
  const names = new Map<string, unknown>(
    spaces.map((space, at) => [at ? `j${at}` : "wrist", space]),
  );
  const space = new EventTarget();
  const session = {
    visibilityState: "visible",
    inputSources: [] as unknown[],
  };
  const input = new HeadsetInput(
    session as unknown as XRSession,
    space as unknown as XRReferenceSpace,
  );
  const frame = {
    predictedDisplayTime: 130,
    getViewerPose: () => placed(0),
    getPose: (of: { x: number | null }) => (of.x === null ? null : placed(of.x)),
    getJointPose: (of: { at: number }) => (of.at === 7 ? null : placed(of.at / 100)),
    fillPoses: () => false,
  };
  const read = () => input.read(100, frame as unknown as XRFrame);
  return { input, session, space, names, read };
}

const controller = (x: number | null) => ({
  handedness: "left",
  targetRayMode: "tracked-pointer",
  gripSpace: { x },
  gamepad: { buttons: [{ value: 0.5, pressed: false }], axes: [0, 0, 0, -1] },
});

describe("a headset", () => {
  it("gives a controller as it is, with the instant that its pose is predicted for", () => {
    const { session, read } = headset();
    session.inputSources = [controller(-0.2)];
    const { left, right, predictedMs, velocity, isVisible } = read();
    expect(left?.pose?.slice(0, 3)).toEqual([-0.2, 1, -0.5]);
    expect(left?.isEmulated).toBe(true);
    expect(left?.clutch).toBeNull();
    expect([right, predictedMs, isVisible]).toEqual([null, 130, true]);
    expect(velocity?.[0]).toBeCloseTo(0.6);
  });

  it("never gives the pose of a hand that is lost", () => {
    const { session, read } = headset();
    session.inputSources = [controller(0.2)];
    expect(read().left?.pose).not.toBeNull();
    session.inputSources = [controller(null)];
    expect(read().left?.pose).toBeNull();
    session.inputSources = [];
    expect(read().left).toBeNull();
  });

  it("gives every new input source a number of its own, and the same one the same number", () => {
    const { session, read } = headset();
    const first = controller(0.1);
    session.inputSources = [first];
    const number = read().left?.source;
    expect(read().left?.source).toBe(number);
    session.inputSources = [controller(0.1)];
    expect(read().left?.source).not.toBe(number);
  });

  it("gives joints one by one where they cannot be had at once; one that is unknown is NaN", () => {
    const { session, names, read } = headset();
    session.inputSources = [{ handedness: "right", targetRayMode: "tracked-pointer", hand: names }];
    const { right } = read();
    expect(right?.tracker).toBe("hand");
    expect(right?.joints?.[8 * 5]).toBeCloseTo(0.05);
    expect(right?.joints?.[8 * 24 + 7]).toBeCloseTo(0.008);
    expect([...(right?.joints?.subarray(8 * 7, 8 * 8) ?? [])].every(Number.isNaN)).toBe(true);
  });

  it("counts when the operator recentres, and says when it is not in front", () => {
    const { input, session, space, read } = headset();
    expect(read().origin).toBe(0);
    space.dispatchEvent(new Event("reset"));
    session.visibilityState = "visible-blurred";
    expect(read().origin).toBe(1);
    expect(read().isVisible).toBe(false);
    expect(input.blind(5)).toMatchObject({ isVisible: false, origin: 1, left: null, right: null });
  });
});

describe("a pose from a matrix", () => {
  it("has the rotation that the matrix was made of, whichever axis is the largest", () => {
    for (const [x, y, z, w] of [
      [0, 0, 0, 1],
      [1, 0, 0, 0],
      [0, 1, 0.1, 0],
      [0.1, -0.2, 1, 0.05],
      [0.3, -0.5, 0.2, 0.7],
    ] as [number, number, number, number][]) {
      const turn = new Quaternion(x, y, z, w).normalize();
      const matrix = new Matrix4().compose(new Vector3(1, 2, 3), turn, new Vector3(1, 1, 1));
      const pose = poseOfMatrix(matrix.elements);
      expect(pose.slice(0, 3)).toEqual([1, 2, 3]);
      const found = new Quaternion(pose[3], pose[4], pose[5], pose[6]);
      expect(Math.abs(found.dot(turn))).toBeCloseTo(1, 6);
    }
  });
});
