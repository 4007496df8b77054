// Everything of one episode that is in the picture, and how it follows the clock.
import { Box3, type BufferGeometry, type Color, type Material, type Mesh, Vector3 } from "three";
import type { RobotFacts } from "../api/schema";
import type { Clock } from "../player/clock";
import { Balance } from "./balance";
import { Cloud } from "./cloud";
import { Figure } from "./figure";
import { Frustums } from "./frustums";
import { Grippers, palms } from "./grippers";
import { type Tint, tintOf } from "./limits";
import { LinkAxes } from "./link_axes";
import { linkGeometries } from "./link_geometry";
import { disposeMaterials, type Materials, makeMaterials } from "./materials";
import { MotionTrack, type Sample } from "./motion_track";
import { onStage, type Palette } from "./palette";
import { Person } from "./person";
import { PersonHands } from "./person_hands";
import { PoseLookup, type Tracks } from "./pose_lookup";
import { Room } from "./room";
import type { Stage } from "./stage";
import { Trails } from "./trails";
import { type Frame, lookAcross, lookFrom, refit } from "./viewpoint";

export interface ShownParts {
  person: boolean;
  ghost: boolean;
  trails: boolean;
  points: boolean;
  limits: boolean;
  balance: boolean;
  axes: boolean;
  cameras: boolean;
  follow: boolean;
}

export const FIRST_SHOWN: ShownParts = {
  person: true,
  ghost: true,
  trails: false,
  points: true,
  limits: true,
  balance: false,
  axes: false,
  cameras: true,
  follow: true,
};

export class SceneModel {
  readonly figure: Figure | null;
  readonly ghost: Figure | null;
  readonly clouds: Cloud[];
  shown: ShownParts = FIRST_SHOWN;
  /** The link under the pointer, if any. */
  chosen: string | null = null;
  /** Milliseconds of script that it last took to follow the clock. */
  refreshMs = 0;
  private readonly materials: Materials;
  private readonly geometries = new Map<string, BufferGeometry>();
  private readonly tracks: Tracks;
  private readonly objects: { track: MotionTrack; shown: number }[];
  private readonly room: Room;
  private readonly trails: Trails | null = null;
  private readonly balance: Balance;
  private readonly grippers: Grippers | null = null;
  readonly person: Person | null;
  readonly hands: PersonHands | null;
  private readonly frustums: Frustums;
  private axes: LinkAxes | null = null;
  /** Told which colours of joints are in the picture. */
  onTints: (tints: ReadonlySet<Tint>) => void = () => undefined;
  private readonly frames = { measured: -2, commanded: -2, base: -2 };
  private readonly stood = new Vector3();
  /** Of the robot at rest. */
  private readonly bounds = new Box3();
  private readonly unsubscribe: () => void;

  constructor(
    id: string,
    readonly facts: RobotFacts,
    private readonly stage: Stage,
    readonly clock: Clock,
    meshes: ReadonlyMap<string, BufferGeometry> | null = null,
    look: { tint?: Color } = {},
  ) {
    const track = (of: { stream: string; rate_hz: number | null; width: number } | null) =>
      of && new MotionTrack(id, of.stream, of.rate_hz, of.width, this.refresh, clock.endNs);
    this.tracks = {
      measured: track(facts.measured),
      commanded: track(facts.commanded),
      base: track(facts.base),
    };
    this.objects = facts.objects.map((each) => ({ track: track(each) as MotionTrack, shown: -2 }));
    this.materials = makeMaterials(stage.palette, stage.isFrugal, look.tint ?? null);
    this.room = new Room(facts, stage.palette);
    this.balance = new Balance(stage.palette.ink);
    this.person =
      facts.person && new Person(id, facts.person, stage.palette, clock.endNs, this.refresh);
    this.hands = facts.hands && new PersonHands(id, facts.hands, clock.endNs, this.refresh);
    this.figure = facts.model && new Figure(facts.model);
    this.ghost = facts.model && facts.commanded && facts.measured ? new Figure(facts.model) : null;
    const poses = facts.model && new PoseLookup(facts.model, facts, this.tracks);
    const places = Object.values(facts.model?.end_effectors ?? {});
    if (poses && places.length)
      this.trails = new Trails(
        poses,
        places,
        clock.startNs,
        ["--line-2", "--line-6", "--line-5"].map(onStage),
      );
    const colours = { low: onStage("--line-9"), high: onStage("--line-6") };
    this.clouds = facts.clouds.map(
      (each) => new Cloud(id, each, poses, this.refresh, colours, stage.fineness),
    );
    if (this.figure) {
      this.dress(this.figure, meshes);
      this.bounds.setFromObject(this.figure.root);
      if (!this.bounds.isEmpty()) this.figure.liftBy(-this.bounds.min.z);
      this.bounds.setFromObject(this.figure.root);
      this.stood.copy(this.figure.root.position);
      this.grippers = new Grippers(
        id,
        facts.grippers,
        this.figure,
        this.materials,
        stage.palette,
        clock.endNs,
        this.refresh,
      );
    }
    this.frustums = new Frustums(
      id,
      facts.cameras,
      this.figure,
      stage.palette.grid,
      stage.invalidate,
      this.hands?.head,
    );
    this.enter();
    this.unsubscribe = clock.subscribe(this.refresh);
  }

  /** Show what is switched on, as it is now. */
  show(shown: ShownParts): void {
    const isOther = this.person !== null && shown.person !== this.shown.person;
    this.shown = shown;
    this.refresh();
    if (isOther) refit(this.stage, this.frame);
    this.tint();
    this.stage.moved();
  }

  choose(link: string | null): void {
    if (link === this.chosen) return;
    this.chosen = link;
    this.tint();
    this.stage.invalidate();
  }

  /** How much must be in the picture, m; objects alone need some room as well. */
  get height(): number {
    const { max, min } = this.bounds;
    if (!this.figure) return 1.2;
    if (this.figure.model.floating) return Math.max(max.z, 0.5);
    return Math.max(max.z - min.z, 0.8 * (max.y - min.y), 0.4);
  }

  /** What the camera looks at: the middle of the robot, lower while it lies on the floor. */
  get centre(): Vector3 {
    // Who has hands and no robot works in front of their chest.
    if (!this.figure && this.hands) return this.workplace;
    if (!this.figure) return new Vector3(0, 0, 0.5);
    if (!this.figure.model.floating) return this.bounds.getCenter(new Vector3());
    const { x, y, z } = this.figure.root.position;
    const sunk = z - (this.facts.model?.standing?.height ?? z);
    return new Vector3(x, y, 0.5 * this.height + 0.5 * sunk);
  }

  private get workplace(): Vector3 {
    const { place, head } = this.hands as PersonHands;
    const ahead = new Vector3(0.3, 0, -0.35).applyQuaternion(head.quaternion);
    return head.visible ? place.clone().add(ahead) : new Vector3(0.3, 0, 1.25);
  }

  /** Look as one does at first: across a fall where there is one, else from the corner. */
  lookFirst(): void {
    const { fall } = this.facts;
    if (fall && !this.person) lookAcross(this.stage, fall.heading_rad, this.frame);
    else lookFrom(this.stage, "corner", this.frame);
  }

  /** What must be in the picture: the robot, and the person beside it while they are shown. */
  get frame(): Frame {
    const { centre, height } = this;
    const person = this.shown.person ? this.facts.person : null;
    const turn = this.facts.person?.heading_rad ?? 0;
    if (!person) return { centre, height, width: 0.8 * height, turn, near: 0 };
    const [x, y] = person.aside;
    const apart = Math.hypot(x, y);
    const tall = Math.max(height, person.height);
    centre.add(new Vector3(x / 2, y / 2, (tall - height) / 2));
    return { centre, height: tall, width: 0.6 * tall + apart, turn, near: apart / 2 };
  }

  get palette(): Palette {
    return this.stage.palette;
  }

  get error(): Error | null {
    return this.tracks.measured?.error ?? this.tracks.base?.error ?? null;
  }

  dispose(): void {
    this.unsubscribe();
    for (const track of Object.values(this.tracks) as (MotionTrack | null)[]) track?.close();
    for (const { track } of this.objects) track.close();
    for (const each of [
      this.room,
      this.balance,
      this.person,
      this.hands,
      this.trails,
      this.grippers,
      this.axes,
      this.frustums,
      ...this.clouds,
    ])
      each?.dispose();
    for (const geometry of this.geometries.values()) geometry.dispose();
    disposeMaterials(this.materials);
  }

  private dress(figure: Figure, meshes: ReadonlyMap<string, BufferGeometry> | null): void {
    const drawn = linkGeometries(
      figure.model,
      this.stage.palette,
      palms(figure.model, this.facts.grippers),
    );
    // A description may leave links without a mesh, as hands that come from another maker.
    const found = new Map([...drawn, ...(meshes ?? [])]);
    for (const [name, geometry] of found) this.geometries.set(name, geometry);
    figure.dress(found, [this.materials.plain], (mesh) => {
      mesh.castShadow = true;
      // Meshes of makers are not closed: in their own shadow they would be full of patches.
      mesh.receiveShadow = !meshes?.has(mesh.name);
    });
    this.ghost?.dress(found, this.materials.ghost, (mesh) => {
      mesh.renderOrder = mesh.material === this.materials.ghost[0] ? 2 : 3;
    });
  }

  private enter(): void {
    const { world } = this.stage;
    world.add(
      this.frustums.group,
      this.room.group,
      this.balance.group,
      ...this.clouds.map((cloud) => cloud.points),
    );
    if (this.trails) world.add(this.trails.group);
    if (this.person) world.add(this.person.group);
    if (this.hands) world.add(this.hands.group);
    if (this.figure) world.add(this.figure.root);
    if (this.ghost) world.add(this.ghost.root);
  }

  private refresh = (): void => {
    const begin = performance.now();
    this.followClock(this.clock.timeNs);
    this.refreshMs = performance.now() - begin;
  };

  private followClock(time: number): void {
    let moved = this.moveFigure(time);
    moved = this.moveObjects(time) || moved;
    moved = (this.grippers?.update(time) ?? false) || moved;
    moved = (this.shown.person && this.person?.update(time, this.figure)) || moved;
    if (this.person) this.person.group.visible = this.shown.person;
    moved = this.moveHands(time) || moved;
    if (this.hands) this.hands.group.visible = this.shown.person;
    const scanned =
      this.shown.points && this.clouds.map((cloud) => cloud.update(time)).includes(true);
    for (const cloud of this.clouds) cloud.points.visible = this.shown.points && cloud.shown >= 0;
    if (this.trails) {
      this.trails.group.visible = this.shown.trails;
      if (this.shown.trails) this.trails.update(time);
    }
    this.showAxes();
    this.frustums.update(time, this.shown.cameras);
    this.balance.group.visible = this.shown.balance && this.figure !== null;
    if (this.balance.group.visible && this.figure) this.balance.update(this.figure);
    if (moved) this.tint();
    if (moved) this.stage.moved();
    else if (scanned || this.shown.trails) this.stage.invalidate();
    this.tell(time);
  }

  private moveHands(time: number): boolean {
    const { hands } = this;
    if (!hands || !this.shown.person) return false;
    const wasSeen = hands.head.visible;
    const moved = hands.update(time);
    // Where somebody without a robot stands is known only now.
    if (!wasSeen && hands.head.visible && !this.figure) this.lookFirst();
    return moved;
  }

  private showAxes(): void {
    if (this.shown.axes && this.figure) this.axes ??= new LinkAxes(this.figure);
    this.axes?.show(this.shown.axes);
  }

  private moveFigure(time: number): boolean {
    if (!this.figure) return false;
    const joints = this.take(this.tracks.measured, "measured", time);
    const base = this.take(this.tracks.base, "base", time);
    const asked = this.take(this.tracks.commanded, "commanded", time);
    if (joints && joints.frame < 0) this.figure.rest();
    else if (joints && this.facts.measured) this.figure.pose(this.facts.measured, joints.values);
    if (base && base.frame < 0) this.figure.home();
    else if (base && this.facts.base) this.figure.place(this.facts.base, base.values);
    if (this.ghost) {
      if (asked && this.facts.commanded && asked.frame >= 0)
        this.ghost.pose(this.facts.commanded, asked.values);
      this.ghost.root.visible = this.shown.ghost && this.frames.commanded >= 0;
      this.ghost.root.position.copy(this.figure.root.position);
      this.ghost.root.quaternion.copy(this.figure.root.quaternion);
    }
    if (base) this.follow();
    return Boolean(joints ?? base ?? asked);
  }

  /** The sample at a time, if it is another one than before. */
  private take(
    track: MotionTrack | null,
    name: keyof SceneModel["frames"],
    time: number,
  ): Sample | null {
    const sample = track?.at(time) ?? null;
    if (!sample || sample.frame === this.frames[name]) return null;
    this.frames[name] = sample.frame;
    return sample;
  }

  private moveObjects(time: number): boolean {
    let changed = false;
    this.objects.forEach((each, place) => {
      const sample = each.track.at(time);
      const facts = this.facts.objects[place];
      if (!sample || !facts || sample.frame === each.shown) return;
      each.shown = sample.frame;
      if (sample.frame >= 0) changed = this.room.place(facts, sample.values) || changed;
    });
    return changed;
  }

  private follow(): void {
    if (!this.figure) return;
    const { x, y, z } = this.figure.root.position;
    // Half way down with a robot that falls: it stays in the picture, and its fall is still seen.
    const by = new Vector3(x - this.stood.x, y - this.stood.y, 0.5 * (z - this.stood.z));
    this.stood.set(x, y, z);
    if (!this.shown.follow) return;
    this.stage.shift(by);
    const [right, on] = (this.shown.person && this.facts.person?.aside) || [0, 0];
    this.stage.aim(x + right / 2, y + on / 2);
  }

  private tint(): void {
    if (!this.figure) return;
    const tints = this.shown.limits ? tintOf(this.figure) : new Map<string, Tint>();
    this.onTints(new Set(tints.values()));
    for (const mesh of this.figure.meshes) {
      mesh.material = this.materials[
        mesh.name === this.chosen ? "chosen" : (tints.get(mesh.name) ?? "plain")
      ] as Material;
    }
  }

  /** What is in the picture, for people who test and for machines that read the page. */
  private tell(time: number): void {
    const { dataset } = this.stage.canvas;
    dataset.timeNs = String(time);
    dataset.frame = String(this.frames.measured);
    dataset.ghostFrame = String(this.frames.commanded);
    if (this.person) dataset.personFrame = String(this.person.frame);
    if (this.hands) dataset.hands = String(this.hands.sides);
    if (this.clouds[0]) dataset.scan = String(this.clouds[0].shown);
  }

  /** Meshes to point at. */
  get targets(): Mesh[] {
    return this.figure?.meshes ?? [];
  }
}
