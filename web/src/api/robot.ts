// The robot of an episode; the same names as in `corporeal.studio.routes.robot`.
import { getJson } from "./client";
import { below } from "./episode";

export type Triple = [number, number, number];

export interface ShapeFacts {
  type: "box" | "sphere" | "capsule" | "cylinder";
  /** Full extents; a capsule's second is its straight part, along z. */
  size: number[];
  xyz: Triple;
  rpy: Triple;
}

export interface LinkFacts {
  name: string;
  shapes: ShapeFacts[];
  mass: number | null;
  com: Triple | null;
}

export interface JointFacts {
  name: string;
  type: "revolute" | "prismatic";
  parent: string;
  child: string;
  xyz: Triple;
  rpy: Triple;
  axis: Triple;
  lower: number | null;
  upper: number | null;
  mimic: { joint: string; multiplier: number; offset: number } | null;
}

export interface FrameFacts {
  name: string;
  link: string;
  xyz: Triple;
  rpy: Triple;
}

export interface RobotModel {
  name: string;
  maker: string | null;
  base: string;
  floating: boolean;
  links: LinkFacts[];
  joints: JointFacts[];
  frames: FrameFacts[];
  groups: Record<string, string[]>;
  end_effectors: Record<string, string>;
  feet: Record<string, string>;
  standing: { height: number; posture: Record<string, number> } | null;
  rest: Record<string, number>;
}

export interface DriveFacts {
  stream: string;
  rate_hz: number | null;
  width: number;
  samples: number;
  columns: { column: number; joint: string; factor: number }[];
}

export interface TrackFacts {
  stream: string;
  name: string;
  frame: string | null;
  rate_hz: number | null;
  width: number;
  samples: number;
  position: Triple;
  quaternion: [number, number, number, number];
}

/** Distances from goals, m; the place on the robot of each column. */
export interface MissFacts {
  stream: string;
  rate_hz: number | null;
  places: (string | null)[];
}

/** The person whose motion it was: drawn `scale` times as large, moved by `shift`, `aside` of the robot. */
export interface PersonFacts {
  stream: string;
  rate_hz: number | null;
  samples: number;
  names: string[];
  confidence: string | null;
  misses: MissFacts | null;
  scale: number;
  shift: [number, number];
  aside: [number, number];
  heading_rad: number;
  height: number;
}

export interface OpeningFacts {
  stream: string;
  place: string;
  rate_hz: number | null;
  samples: number;
}

export interface CloudFacts {
  stream: string;
  samples: number;
  link: string | null;
  xyz: Triple;
  rpy: Triple;
}

export interface ThingFacts {
  name: string;
  form: "box" | "ball" | "cylinder";
  size: Triple;
  position: Triple;
  yaw_rad: number;
  colour: string | null;
  track: string | null;
}

export interface Surroundings {
  things: ThingFacts[];
  table: { position: Triple; size: Triple } | null;
  target: Triple | null;
}

export interface RobotFacts {
  model: RobotModel | null;
  measured: DriveFacts | null;
  commanded: DriveFacts | null;
  base: TrackFacts | null;
  person: PersonFacts | null;
  objects: TrackFacts[];
  grippers: OpeningFacts[];
  clouds: CloudFacts[];
  surroundings: Surroundings;
  missing: string[];
}

export function getRobot(id: string, signal?: AbortSignal): Promise<RobotFacts> {
  return getJson<RobotFacts>(below(id, "robot"), {}, signal);
}
