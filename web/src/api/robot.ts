// The robot of an episode.

import { getJson } from "./client";
import { below } from "./episode";
import type { RobotFacts } from "./schema";

export type Triple = [number, number, number];

export function getRobot(id: string, signal?: AbortSignal): Promise<RobotFacts> {
  return getJson<RobotFacts>(below(id, "robot"), {}, signal);
}
