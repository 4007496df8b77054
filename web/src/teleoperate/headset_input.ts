/// <reference types="webxr" />
// A headset: heads, hands with 25 joints and controllers as WebXR tells them, frame by frame.
import { beyondPlay } from "./game_pad";
import {
  type HandInput,
  type InputAdapter,
  nextSource,
  type OperatorInput,
  type Pose,
  type Side,
} from "./input";
import { JOINT_NUMBERS } from "./wire";

const walk = { ahead: 0.6, left: 0.3, turn: 0.8 };

/** What TypeScript's types of WebXR leave out; not every browser has it. */
type NewerFrame = XRFrame & {
  predictedDisplayTime?: number;
  fillPoses?: (spaces: XRSpace[], base: XRSpace, matrices: Float32Array) => boolean;
  fillJointRadii?: (joints: XRJointSpace[], radii: Float32Array) => boolean;
};

export class HeadsetInput implements InputAdapter<[XRFrame]> {
  readonly device = "headset";
  private origin = 0;
  private readonly numbers = new WeakMap<XRInputSource, number>();

  constructor(
    private readonly session: XRSession,
    private readonly space: XRReferenceSpace,
  ) {
    space.addEventListener("reset", this.wasReset);
  }

  /** What the headset says in one of its frames. */
  read(frameMs: number, frame: XRFrame): OperatorInput {
    const hands: Record<Side, HandInput | null> = { left: null, right: null };
    for (const source of this.session.inputSources) {
      const side = source.handedness;
      if (side === "none" || source.targetRayMode === "transient-pointer") continue;
      // A hand and a controller of the same side at once: the hand is what the operator moves.
      if (hands[side]?.pose && !source.hand) continue;
      hands[side] = this.hand(source, frame);
    }
    const predicted = (frame as NewerFrame).predictedDisplayTime;
    const head = frame.getViewerPose(this.space)?.transform;
    return {
      isVisible: this.session.visibilityState === "visible",
      origin: this.origin,
      frameMs,
      predictedMs: predicted ?? null,
      head: head ? poseOf(head) : null,
      velocity: velocityOf(hands),
      ...hands,
    };
  }

  /** Nothing is seen, and the host is to know at once: no frame may come any more. */
  blind(nowMs: number): OperatorInput {
    const none = { predictedMs: null, head: null, velocity: null, left: null, right: null };
    return { isVisible: false, origin: this.origin, frameMs: nowMs, ...none };
  }

  close(): void {
    this.space.removeEventListener("reset", this.wasReset);
  }

  private wasReset = (): void => {
    this.origin += 1;
  };

  private hand(source: XRInputSource, frame: XRFrame): HandInput {
    const { hand, gamepad } = source;
    const wrist = hand?.get("wrist");
    const place = hand
      ? wrist && frame.getJointPose?.(wrist, this.space)
      : source.gripSpace && frame.getPose(source.gripSpace, this.space);
    const buttons = gamepad?.buttons ?? [];
    return {
      tracker: hand ? "hand" : "controller",
      source: this.number(source),
      pose: place ? poseOf(place.transform) : null,
      isEmulated: place?.emulatedPosition ?? false,
      buttons: buttons.map((button) => button.value),
      pressed: buttons.map((button) => button.pressed),
      axes: [...(gamepad?.axes ?? [])],
      joints: hand && place ? this.joints(hand, frame) : null,
      clutch: null,
    };
  }

  private number(source: XRInputSource): number {
    const known = this.numbers.get(source) ?? nextSource();
    this.numbers.set(source, known);
    return known;
  }

  /** All joints in one call where the browser has it; else, or when one is unknown, one by one. */
  private joints(hand: XRHand, frame: NewerFrame): Float32Array {
    const spaces = [...hand.values()];
    const rows = new Float32Array(JOINT_NUMBERS).fill(Number.NaN);
    const matrices = new Float32Array(16 * spaces.length);
    const radii = new Float32Array(spaces.length);
    if (frame.fillPoses?.(spaces, this.space, matrices) && frame.fillJointRadii?.(spaces, radii)) {
      spaces.forEach((_, at) => {
        rows.set(poseOfMatrix(matrices.subarray(16 * at, 16 * at + 16)), 8 * at);
        rows[8 * at + 7] = radii[at] ?? Number.NaN;
      });
      return rows;
    }
    spaces.forEach((joint, at) => {
      const found = frame.getJointPose?.(joint, this.space);
      if (!found) return;
      rows.set(poseOf(found.transform), 8 * at);
      rows[8 * at + 7] = found.radius ?? Number.NaN;
    });
    return rows;
  }
}

function poseOf({ position: p, orientation: q }: XRRigidTransform): Pose {
  return [p.x, p.y, p.z, q.x, q.y, q.z, q.w];
}

/** From a matrix as WebGL has it, column after column. */
export function poseOfMatrix(m: ArrayLike<number>): Pose {
  const at = (row: number, column: number) => m[4 * column + row] ?? 0;
  const [xx, yy, zz] = [at(0, 0), at(1, 1), at(2, 2)];
  // The greatest of the four is taken first, so that nothing is divided by nearly nothing.
  const squares = [1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz, 1 + xx + yy + zz];
  const most = squares.indexOf(Math.max(...squares));
  const twice = Math.sqrt(Math.max(squares[most] ?? 1, 1e-12));
  const [yx, zx, zy] = [at(1, 0) + at(0, 1), at(2, 0) + at(0, 2), at(2, 1) + at(1, 2)];
  const [a, b, c] = [at(2, 1) - at(1, 2), at(0, 2) - at(2, 0), at(1, 0) - at(0, 1)];
  const rows = [
    [twice * twice, yx, zx, a],
    [yx, twice * twice, zy, b],
    [zx, zy, twice * twice, c],
    [a, b, c, twice * twice],
  ];
  const [x = 0, y = 0, z = 0, w = 1] = (rows[most] ?? []).map((value) => value / (2 * twice));
  return [at(0, 3), at(1, 3), at(2, 3), x, y, z, w];
}

/** The left stick walks, the right one turns; null where there is no stick. */
function velocityOf(hands: Record<Side, HandInput | null>): OperatorInput["velocity"] {
  const { left, right } = hands;
  if ((left?.axes.length ?? 0) < 4 && (right?.axes.length ?? 0) < 4) return null;
  const x = beyondPlay(left?.axes[2] ?? 0);
  const y = beyondPlay(left?.axes[3] ?? 0);
  return [-y * walk.ahead, -x * walk.left, -beyondPlay(right?.axes[2] ?? 0) * walk.turn];
}
