// The robot as it is, the command as its ghost, and goals that can be dragged.
import {
  BoxGeometry,
  BufferGeometry,
  CylinderGeometry,
  Float32BufferAttribute,
  Group,
  Line,
  LineBasicMaterial,
  Mesh,
  MeshBasicMaterial,
  MeshLambertMaterial,
  SphereGeometry,
  TorusGeometry,
  Vector3,
} from "three";
import type { JointMotion, RobotModel } from "../api/schema";
import { Figure } from "../scene/figure";
import { linkGeometries } from "../scene/link_geometry";
import { disposeMaterials, type Materials, makeMaterials } from "../scene/materials";
import { thingColour } from "../scene/palette";
import type { Stage } from "../scene/stage";
import { lookFrom } from "../scene/viewpoint";
import { fromXr, toXr } from "./axes";
import { type HostState, type Thing, TOO_NEAR_M } from "./host";
import { type Pose, SIDES, type Side } from "./input";

const markerM = 0.035;
/** Without a graphics card a picture takes the time in which input is sent: few are drawn. */
const frugalMs = 250;

/** A goal to be dragged (ring), where the hand is (ball), and what lies between them. */
class HandMarker {
  readonly group = new Group();
  readonly goal: Mesh;
  private readonly measured: Mesh;
  private readonly way: Line;
  private readonly tone: MeshBasicMaterial;

  constructor(stage: Stage) {
    this.tone = new MeshBasicMaterial({ color: stage.palette.ghost, depthTest: false });
    this.goal = new Mesh(new TorusGeometry(markerM, 0.006, 8, 32), this.tone);
    this.measured = new Mesh(new SphereGeometry(0.012, 16, 12), this.tone);
    const line = new BufferGeometry().setAttribute(
      "position",
      new Float32BufferAttribute(new Float32Array(6), 3),
    );
    this.way = new Line(
      line,
      new LineBasicMaterial({ color: stage.palette.ghost, depthTest: false }),
    );
    this.way.frustumCulled = false;
    for (const each of [this.goal, this.measured, this.way]) each.renderOrder = 5;
    this.group.add(this.goal, this.measured, this.way);
  }

  show(goal: Pose | null, measured: Pose | null, isFar: boolean, stage: Stage): void {
    this.group.visible = measured !== null;
    if (!measured) return;
    const here = fromXr(measured);
    const there = goal ? fromXr(goal) : here;
    this.measured.position.copy(here.position);
    this.goal.position.copy(there.position);
    this.tone.color.copy(isFar ? stage.palette.bad : stage.palette.ghost);
    const ends = this.way.geometry.getAttribute("position");
    ends.setXYZ(0, here.position.x, here.position.y, here.position.z);
    ends.setXYZ(1, there.position.x, there.position.y, there.position.z);
    ends.needsUpdate = true;
  }

  dispose(): void {
    for (const each of [this.goal, this.measured, this.way]) each.geometry.dispose();
    this.tone.dispose();
  }
}

export class RobotScene {
  private figure: Figure | null = null;
  private ghost: Figure | null = null;
  private readonly materials: Materials;
  private readonly pelvis = new Group();
  private readonly markers: Record<Side, HandMarker>;
  private readonly things = new Map<string, Mesh>();
  private shownMs = 0;

  constructor(readonly stage: Stage) {
    this.materials = makeMaterials(stage.palette, stage.isFrugal);
    this.markers = { left: new HandMarker(stage), right: new HandMarker(stage) };
    this.pelvis.position.z = 0.79;
    this.pelvis.add(this.markers.left.group, this.markers.right.group);
    stage.world.add(this.pelvis);
    const centre = new Vector3(0.15, 0, 0.95);
    lookFrom(stage, "corner", { centre, height: 1, width: 1.1, turn: 0, near: 0 });
    this.lookOver();
  }

  /** From behind the robot's shoulder, as the operator stands: left is left. */
  private lookOver(): void {
    const { camera, controls } = this.stage;
    controls.target.set(0.25, 0, 0.9);
    camera.position.set(-1.9, -0.75, 1.75);
    controls.update();
  }

  setModel(model: RobotModel): void {
    this.figure = new Figure(model);
    this.ghost = new Figure(model);
    const geometries = linkGeometries(model, this.stage.palette, new Map());
    this.figure.dress(geometries, [this.materials.plain], (mesh) => {
      mesh.castShadow = true;
    });
    this.ghost.dress(geometries, this.materials.ghost, (mesh) => {
      mesh.renderOrder = mesh.material === this.materials.ghost[0] ? 2 : 3;
    });
    this.ghost.root.visible = false;
    this.stage.world.add(this.figure.root, this.ghost.root);
    this.stage.moved();
  }

  show(state: HostState, joints: readonly string[]): void {
    const { figure, ghost } = this;
    const now = performance.now();
    if (this.stage.isFrugal && now - this.shownMs < frugalMs) return;
    this.shownMs = now;
    if (state.base) {
      const { position, rotation } = fromXr(state.base);
      for (const root of [this.pelvis, figure?.root, ghost?.root]) {
        root?.position.copy(position);
        root?.quaternion.copy(rotation);
      }
    } else if (figure) this.pelvis.position.copy(figure.root.position);
    const drive = {
      columns: joints.map((joint, column) => ({ column, joint, factor: 1 })),
    } as JointMotion;
    if (state.positions) figure?.pose(drive, Float32Array.from(state.positions));
    if (ghost) {
      ghost.root.visible = state.state === "engaged" && state.commanded !== undefined;
      const measured = state.positions ?? [];
      ghost.pose(
        drive,
        Float32Array.from(
          state.commanded ?? [],
          (value, at) => value ?? measured[at] ?? Number.NaN,
        ),
      );
    }
    this.tint(state);
    for (const side of SIDES) {
      const hand = state.hands[side];
      this.markers[side].show(
        hand?.goal ?? null,
        hand?.measured ?? null,
        (hand?.reach ?? 0) > 1,
        this.stage,
      );
    }
    this.showThings(state.things ?? []);
    if (this.stage.isFrugal) this.stage.invalidate();
    else this.stage.moved();
  }

  /** Joints that hold the command back, and links that are too near to each other. */
  private tint(state: HostState): void {
    const { figure } = this;
    if (!figure) return;
    const limited = new Set(
      figure.model.joints.filter((joint) => state.limits.includes(joint.name)).map((j) => j.child),
    );
    const tooNear = state.near.filter(([, , far]) => far < TOO_NEAR_M);
    const near = new Set(tooNear.flatMap((pair) => pair.slice(0, 2)));
    for (const mesh of figure.meshes)
      mesh.material = near.has(mesh.name)
        ? this.materials.bad
        : limited.has(mesh.name)
          ? this.materials.warn
          : this.materials.plain;
  }

  private showThings(things: readonly Thing[]): void {
    for (const thing of things) {
      let mesh = this.things.get(thing.name);
      if (!mesh) {
        mesh = new Mesh(
          formOf(thing),
          new MeshLambertMaterial({ color: thingColour(thing.colour) }),
        );
        mesh.castShadow = true;
        mesh.receiveShadow = true;
        this.things.set(thing.name, mesh);
        this.stage.world.add(mesh);
      }
      const { position, rotation } = fromXr(thing.pose);
      mesh.position.copy(position);
      mesh.quaternion.copy(rotation);
    }
  }

  /** Where a hand can be taken hold of, in the world; null where it is not known. */
  handle(side: Side): Vector3 | null {
    const { group, goal } = this.markers[side];
    return group.visible ? goal.getWorldPosition(new Vector3()) : null;
  }

  /** A way in the world as one in the operator's room, which looks where the robot looks. */
  toRoom(way: Vector3): Vector3 {
    const own = way.clone().applyQuaternion(this.pelvis.quaternion.clone().invert());
    return toXr(own);
  }

  dispose(): void {
    for (const mesh of [...(this.figure?.meshes ?? []), ...this.things.values()])
      mesh.geometry.dispose();
    for (const mesh of this.things.values()) (mesh.material as MeshLambertMaterial).dispose();
    for (const side of SIDES) this.markers[side].dispose();
    disposeMaterials(this.materials);
  }
}

function formOf({ form, size }: Thing): BufferGeometry {
  const [a = 0.05, b = a, c = a] = size;
  if (form === "ball") return new SphereGeometry(a / 2, 20, 14);
  if (form === "cylinder") return new CylinderGeometry(a / 2, a / 2, c, 28).rotateX(Math.PI / 2);
  return new BoxGeometry(a, b, c);
}
