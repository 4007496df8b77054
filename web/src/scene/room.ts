// What stands around the robot: table, target, and objects, each where its stream has it.
import {
  AxesHelper,
  type BufferGeometry,
  Group,
  type Material,
  Mesh,
  MeshStandardMaterial,
  SphereGeometry,
  TorusGeometry,
} from "three";
import type { PoseTrack, RobotFacts, SceneThing } from "../api/schema";
import { setPose } from "./figure";
import { type Palette, thingColour } from "./palette";
import { cylinder, roundedBox } from "./shapes";

function form(thing: SceneThing): BufferGeometry {
  const [x, y, z] = thing.size;
  if (thing.form === "ball") return new SphereGeometry(x / 2, 28, 20);
  if (thing.form === "cylinder") return cylinder(x / 2, z, 32);
  return roundedBox(x, y, z, 0.08);
}

export class Room {
  readonly group = new Group();
  private readonly tracked = new Map<string, Group>();
  private readonly made: (BufferGeometry | Material | AxesHelper)[] = [];

  constructor(facts: RobotFacts, palette: Palette) {
    const { things, table, target } = facts.surroundings;
    if (table) this.addTable(table.position, table.size, palette);
    if (target) this.addTarget(target, palette);
    for (const thing of things) this.addThing(thing);
    for (const track of facts.objects) if (!this.tracked.has(track.stream)) this.addTriad(track);
  }

  /** Put an object where a sample of its stream says. */
  place(track: PoseTrack, values: Float32Array): boolean {
    const node = this.tracked.get(track.stream);
    return node ? setPose(node, track, values) : false;
  }

  dispose(): void {
    for (const each of this.made) each.dispose();
  }

  private mesh(geometry: BufferGeometry, material: Material): Mesh {
    this.made.push(geometry, material);
    const mesh = new Mesh(geometry, material);
    mesh.castShadow = true;
    mesh.receiveShadow = true;
    return mesh;
  }

  private addTable([x, y, z]: number[], [deep, wide, thick]: number[], palette: Palette): void {
    const at = { x: x ?? 0, y: y ?? 0, z: z ?? 0.7 };
    const size = { x: deep ?? 0.5, y: wide ?? 1, z: thick ?? 0.03 };
    const wood = new MeshStandardMaterial({ color: palette.table, roughness: 0.85 });
    const top = this.mesh(roundedBox(size.x, size.y, size.z, 0.3), wood);
    top.position.set(at.x, at.y, at.z - size.z / 2);
    this.group.add(top);
    const tall = at.z - size.z;
    const steel = new MeshStandardMaterial({ color: palette.dark, roughness: 0.5, metalness: 0.4 });
    const leg = cylinder(0.016, tall, 12);
    for (const [a, b] of [
      [-1, -1],
      [-1, 1],
      [1, -1],
      [1, 1],
    ] as const) {
      const mesh = this.mesh(leg, steel);
      mesh.position.set(at.x + a * (size.x / 2 - 0.05), at.y + b * (size.y / 2 - 0.05), tall / 2);
      this.group.add(mesh);
    }
  }

  private addTarget([x, y, z]: number[], palette: Palette): void {
    const glow = new MeshStandardMaterial({
      color: palette.target,
      emissive: palette.target,
      emissiveIntensity: 0.35,
    });
    const ring = this.mesh(new TorusGeometry(0.045, 0.0035, 8, 40), glow);
    ring.castShadow = false;
    ring.position.set(x ?? 0, y ?? 0, (z ?? 0) + 0.003);
    this.group.add(ring);
  }

  private addThing(thing: SceneThing): void {
    const paint = new MeshStandardMaterial({ color: thingColour(thing.colour), roughness: 0.6 });
    const node = new Group();
    node.add(this.mesh(form(thing), paint));
    node.position.set(...thing.position);
    node.rotation.z = thing.yaw_rad;
    this.group.add(node);
    if (thing.track) this.tracked.set(thing.track, node);
  }

  /** Something whose pose is known and whose shape is not: three short axes. */
  private addTriad(track: PoseTrack): void {
    const node = new Group();
    const axes = new AxesHelper(0.08);
    this.made.push(axes);
    node.add(axes);
    this.group.add(node);
    this.tracked.set(track.stream, node);
  }
}
