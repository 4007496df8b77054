// What an operator does at one instant, whatever device saw it; docs/spec/teleoperation.md decides.

/** x y z qx qy qz qw in WebXR's axes: x to the right, y up, z backwards; metres. */
export type Pose = readonly [number, number, number, number, number, number, number];
export type Side = "left" | "right";
export const SIDES: readonly Side[] = ["left", "right"];

export interface HandInput {
  tracker: "controller" | "hand";
  /** Another number for every new input source. */
  source: number;
  /** Null while it is not tracked: an old pose is never given again. */
  pose: Pose | null;
  isEmulated: boolean;
  /** In the order of xr-standard: trigger, squeeze, touchpad, stick, ... */
  buttons: readonly number[];
  pressed: readonly boolean[];
  axes: readonly number[];
  /** 25 times x y z qx qy qz qw radius, NaN where not known; null where there are no joints. */
  joints: Float32Array | null;
  /** Null where the device leaves the clutch to the host. */
  clutch: boolean | null;
}

export interface OperatorInput {
  isVisible: boolean;
  /** How often the reference space was reset. */
  origin: number;
  frameMs: number;
  predictedMs: number | null;
  head: Pose | null;
  /** Ahead and left in m/s, turning left in rad/s; null where nothing drives the base. */
  velocity: readonly [number, number, number] | null;
  left: HandInput | null;
  right: HandInput | null;
}

export const COMMANDS = [
  "engage",
  "disengage",
  "recenter",
  "hold",
  "stop",
  "reset",
  "kneel",
  "stand",
  "start",
  "end",
  "discard",
  "success",
  "failure",
  "policy",
  "human",
] as const;
export type Command = (typeof COMMANDS)[number];
export type GiveCommand = (command: Command, reason: string) => void;

/** A device: asked for its input at every frame, also while nothing moves. */
export interface InputAdapter<Frame extends unknown[] = []> {
  /** What the operator is told that it is. */
  readonly device: string;
  read(frameMs: number, ...frame: Frame): OperatorInput;
  close(): void;
}

let sources = 0;

/** A number that no other input source of this page has, as 16 bits can tell. */
export function nextSource(): number {
  sources = (sources % 0xffff) + 1;
  return sources;
}
