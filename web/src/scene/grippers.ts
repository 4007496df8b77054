// Fingers that open as far as the gripper's stream says.
import { type BufferGeometry, Group, Mesh } from "three";
import type { GripperOpening, RobotModel } from "../api/schema";
import type { Figure } from "./figure";
import { fingerGeometry } from "./link_geometry";
import type { Materials } from "./materials";
import { MotionTrack } from "./motion_track";
import type { Palette } from "./palette";
import { placement } from "./shapes";

const palmM = 0.015;
const widest = 0.2;

/** How far along x the palm of each link with a gripper goes. */
export function palms(model: RobotModel, openings: readonly GripperOpening[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const { place } of openings) {
    const frame = model.frames.find((each) => each.name === place);
    if (frame) found.set(frame.link, frame.xyz[0] + palmM);
  }
  return found;
}

interface Gripper {
  track: MotionTrack;
  fingers: [Mesh, Mesh];
  shown: number;
}

export class Grippers {
  private readonly grippers: Gripper[] = [];
  private readonly geometries: [BufferGeometry, BufferGeometry];

  constructor(
    id: string,
    openings: readonly GripperOpening[],
    figure: Figure,
    materials: Materials,
    palette: Palette,
    endNs: number,
    onArrival: () => void,
  ) {
    this.geometries = [fingerGeometry(1, palette), fingerGeometry(-1, palette)];
    for (const opening of openings) {
      const frame = figure.model.frames.find((each) => each.name === opening.place);
      const link = figure.links.get(frame?.link ?? opening.place);
      if (!link) continue;
      const seat = new Group();
      if (frame)
        placement(frame.xyz, frame.rpy).decompose(seat.position, seat.quaternion, seat.scale);
      link.add(seat);
      const fingers: [Mesh, Mesh] = [
        new Mesh(this.geometries[0], materials.plain),
        new Mesh(this.geometries[1], materials.plain),
      ];
      for (const mesh of fingers) {
        mesh.castShadow = true;
        mesh.position.x = palmM;
        seat.add(mesh);
      }
      const track = new MotionTrack(id, opening.stream, opening.rate_hz, 1, onArrival, endNs);
      this.grippers.push({ track, fingers, shown: -1 });
    }
  }

  /** True when a finger moved. */
  update(timeNs: number): boolean {
    let changed = false;
    for (const each of this.grippers) {
      const sample = each.track.at(timeNs);
      if (!sample || sample.frame === each.shown) continue;
      each.shown = sample.frame;
      const opening = Math.min(Math.max(sample.values[0] ?? 0, 0), widest);
      each.fingers[0].position.y = opening / 2;
      each.fingers[1].position.y = -opening / 2;
      changed = true;
    }
    return changed;
  }

  dispose(): void {
    for (const each of this.grippers) each.track.close();
    for (const each of this.geometries) each.dispose();
  }
}
