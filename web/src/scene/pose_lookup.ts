// Where the robot was at any time, without drawing it: for trails, and for scans taken a while ago.
import type { RobotFacts, RobotModel } from "../api/schema";
import { Figure } from "./figure";
import type { MotionTrack } from "./motion_track";

export interface Tracks {
  measured: MotionTrack | null;
  commanded: MotionTrack | null;
  base: MotionTrack | null;
}

/** Pose a figure as it was measured; false while the samples are on their way. */
export function poseAt(figure: Figure, facts: RobotFacts, tracks: Tracks, timeNs: number): boolean {
  const joints = tracks.measured?.at(timeNs);
  const base = tracks.base?.at(timeNs);
  if (joints === null || base === null) return false;
  if (facts.measured && joints && joints.frame >= 0) figure.pose(facts.measured, joints.values);
  else figure.rest();
  if (facts.base && base && base.frame >= 0) figure.place(facts.base, base.values);
  else figure.home();
  return true;
}

export class PoseLookup {
  private readonly figure: Figure;

  constructor(
    model: RobotModel,
    private readonly facts: RobotFacts,
    private readonly tracks: Tracks,
  ) {
    this.figure = new Figure(model);
  }

  /** The figure as it was at a time; null while the samples are on their way. */
  at(timeNs: number): Figure | null {
    return poseAt(this.figure, this.facts, this.tracks, timeNs) ? this.figure : null;
  }
}
