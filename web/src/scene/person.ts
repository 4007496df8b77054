// The person whose motion the robot makes: beside it, in another colour, on the same clock.
import { Group } from "three";
import type { HumanFigure } from "../api/schema";
import type { Figure } from "./figure";
import { GoalMarks, missedPlaces } from "./goal_marks";
import { MotionTrack } from "./motion_track";
import type { Palette } from "./palette";
import { PersonBody } from "./person_body";
import { bodyOf, seenPoints } from "./skeleton";

interface Tracks {
  points: MotionTrack;
  confidence: MotionTrack | null;
  misses: MotionTrack | null;
}

export class Person {
  readonly group = new Group();
  /** The sample in the picture: -1 before the first, -2 while it is on its way. */
  frame = -2;
  /** Places of the robot that are too far from their goals. */
  missed: string[] = [];
  private points: Float32Array = new Float32Array(0);
  private seen: boolean[] = [];
  private readonly tracks: Tracks;
  private readonly body: PersonBody;
  private readonly goalMarks: GoalMarks;

  constructor(
    id: string,
    readonly facts: HumanFigure,
    palette: Palette,
    endNs: number,
    onArrival: () => void,
  ) {
    const { names, confidence, misses, rate_hz: rateHz } = facts;
    const track = (stream: string, rate: number | null, width: number) =>
      new MotionTrack(id, stream, rate, width, onArrival, endNs);
    this.tracks = {
      points: track(facts.stream, rateHz, 3 * names.length),
      confidence: confidence === null ? null : track(confidence, rateHz, names.length),
      misses: misses && track(misses.stream, misses.rate_hz, misses.places.length),
    };
    const whole = bodyOf(
      names,
      names.map(() => true),
    );
    this.body = new PersonBody(palette.person, whole.bones.length, names.length);
    this.body.group.scale.setScalar(facts.scale);
    this.body.group.position.set(...facts.shift, 0);
    this.goalMarks = new GoalMarks(misses?.places ?? [], palette.missed);
    this.group.add(this.body.group, this.goalMarks.group);
  }

  /** Follow the clock, and mark the robot as it stands now; true when something changed. */
  update(timeNs: number, figure: Figure | null): boolean {
    const moved = this.moveBody(timeNs);
    const distances = this.tracks.misses?.at(timeNs);
    const missed =
      distances && this.facts.misses
        ? missedPlaces(this.facts.misses.places, distances.values)
        : this.missed;
    const isOther = missed.join() !== this.missed.join();
    this.missed = missed;
    this.goalMarks.mark(missed, figure);
    return moved || isOther;
  }

  /** Where a point was recorded, before it is put beside the robot; null where it is not seen. */
  pointOf(name: string): number[] | null {
    const at = this.facts.names.indexOf(name);
    return this.seen[at] ? Array.from(this.points.subarray(3 * at, 3 * at + 3)) : null;
  }

  dispose(): void {
    for (const track of [this.tracks.points, this.tracks.confidence, this.tracks.misses])
      track?.close();
    this.body.dispose();
    this.goalMarks.dispose();
  }

  private moveBody(timeNs: number): boolean {
    const points = this.tracks.points.at(timeNs);
    const confidence = this.tracks.confidence?.at(timeNs);
    // Without its confidence a sample would show joints that nobody saw.
    if (!points || confidence === null || points.frame === this.frame) return false;
    this.frame = points.frame;
    this.points = points.values;
    this.seen = seenPoints(points.values, confidence ? confidence.values : null);
    this.body.draw(bodyOf(this.facts.names, this.seen), points.values);
    return true;
  }
}
