// What the robot's side says, in the names of docs/spec/teleoperation.md.
import type { Pose, Side } from "./input";

export interface Way {
  name: string;
  url: string;
  /** What has to be done before the address works, as a command or a sentence. */
  todo?: string;
}

export interface Welcome {
  kind: "welcome";
  version: number;
  robot: string;
  joints: string[];
  task: string;
  instruction: string;
  cameras: string[];
  walks: boolean;
  /** Its legs are commanded, so that it can be told to kneel. */
  kneels?: boolean;
  policy?: boolean;
  records?: boolean;
  /** A spectator sees all, and may only stop. */
  role?: "operator" | "spectator";
  ways?: Way[];
}

export type StateWord = "inert" | "engaged" | "hold" | "stopped" | "kneeling";

export interface HandState {
  goal: Pose | null;
  command: Pose | null;
  measured: Pose | null;
  error_m: number | null;
  reach: number | null;
  opening: number | null;
}

export interface Thing {
  name: string;
  form: "box" | "ball" | "cylinder";
  size: number[];
  colour: string | null;
  pose: Pose;
}

export interface LastTake {
  episode: string;
  verdict: "accepted" | "quarantined" | "failed" | null;
  /** Why it is not accepted, in sentences. */
  findings?: string[];
  outcome?: "success" | "failure" | null;
}

export interface Recording {
  state: "off" | "idle" | "countdown" | "recording" | "post-roll" | "ended";
  episode?: string;
  elapsed_s?: number | null;
  countdown_s?: number | null;
  /** What the campaign asks for next, or why it asks for nothing. */
  card?: string;
  /** Samples that were lost on the way to the recorder. */
  lost?: number;
  last?: LastTake | null;
}

export interface HostState {
  kind: "state";
  state: StateWord;
  cause: string;
  driver: "human" | "policy";
  engaged: Partial<Record<Side, boolean>>;
  hands: Partial<Record<Side, HandState | null>>;
  limits: string[];
  near: [string, string, number][];
  /** The safety filter did less than was wanted. */
  held_back?: boolean;
  base_velocity: number[];
  latency_ms: Record<string, number | null>;
  base?: Pose;
  positions?: number[];
  commanded?: (number | null)[];
  things?: Thing[];
  recording?: Recording | null;
}

export type HostMessage =
  | Welcome
  | HostState
  | { kind: "event"; event: string; cause: string }
  | { kind: "pong"; sent_ms: number; host_ns?: number }
  | { kind: "error"; message: string };

/** Links nearer than this are about to hold the hands back; shoulders at rest are twice as far. */
export const TOO_NEAR_M = 0.01;
/** Nearer than this they are worth a line. */
export const NEAR_M = 0.03;

/** What each state is called, so that one look is enough. */
export const STATE_WORDS: Record<StateWord, string> = {
  inert: "READY",
  engaged: "ENGAGED",
  hold: "HOLD",
  stopped: "STOPPED",
  kneeling: "KNEELING",
};

/** What the operator is to do in a state. */
export function adviceOf(state: HostState, device: string): string {
  const cause = state.cause ? `${sentence(state.cause)} ` : "";
  if (state.state === "stopped") return `${cause}Let go of the clutch, then reset.`;
  if (state.state === "hold") return `${cause}Engage to go on.`;
  if (state.state === "kneeling") return `${cause}Stand up brings the robot up again.`;
  if (state.driver === "policy")
    return "The policy drives. Take up the clutch, or press Take over.";
  if (state.state === "engaged") return "The robot's hand follows yours.";
  return device === "headset"
    ? "Hold the squeeze button, or engage, to move the robot."
    : "Hold Space, or drag a hand, to move the robot.";
}

function sentence(words: string): string {
  const start = words.charAt(0).toUpperCase() + words.slice(1);
  return /[.!?]$/.test(start) ? start : `${start}.`;
}

/** The head of a camera's picture; its time is on the host's clock, ns since 1970. */
export interface PictureHead {
  camera: string;
  time_ns: number;
}

/** left_wrist_yaw_joint as people say it. */
export function plainName(name: string): string {
  return name.replace(/_(joint|link)$/, "").replaceAll("_", " ");
}
