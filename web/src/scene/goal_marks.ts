// Red marks on the robot where a hand or foot is too far from where the person's asks it to be.
import { type Color, Group, Mesh, MeshBasicMaterial, SphereGeometry } from "three";
import type { Figure } from "./figure";

/** Farther from its goal than this, a hand or foot is marked. */
export const FAR_M = 0.05;

/** The places whose distance is too large; a column without a place on the robot has no mark. */
export function missedPlaces(
  places: readonly (string | null)[],
  distances: ArrayLike<number>,
): string[] {
  return places.filter(
    (place, column): place is string => place !== null && (distances[column] ?? 0) > FAR_M,
  );
}

export class GoalMarks {
  readonly group = new Group();
  private readonly ball = new SphereGeometry(0.05, 20, 14);
  private readonly paint: MeshBasicMaterial;
  private readonly marks = new Map<string, Mesh>();

  constructor(places: readonly (string | null)[], colour: Color) {
    // Seen through the hand that it marks, and red whatever the light.
    this.paint = new MeshBasicMaterial({
      color: colour,
      transparent: true,
      opacity: 0.85,
      depthTest: false,
      toneMapped: false,
    });
    for (const place of places) {
      if (place === null) continue;
      const mark = new Mesh(this.ball, this.paint);
      mark.renderOrder = 6;
      mark.visible = false;
      this.marks.set(place, mark);
      this.group.add(mark);
    }
  }

  /** Mark these places where the figure has them now. */
  mark(missed: readonly string[], figure: Figure | null): void {
    for (const [place, mark] of this.marks) {
      const pose = missed.includes(place) ? figure?.poseOf(place) : null;
      mark.visible = Boolean(pose);
      if (pose) mark.position.setFromMatrixPosition(pose);
    }
  }

  dispose(): void {
    this.ball.dispose();
    this.paint.dispose();
  }
}
