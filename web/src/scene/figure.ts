// The robot as nested groups: a joint turns the group of its child link, and three.js does the rest.
import {
  type BufferGeometry,
  Group,
  type Material,
  type Matrix4,
  Mesh,
  Quaternion,
  Vector3,
} from "three";
import type { Joint, JointMotion, PoseTrack, RobotModel } from "../api/schema";
import { placement, quaternionOf } from "./shapes";

interface MovedJoint {
  facts: Joint;
  node: Group;
  origin: Vector3;
  turn: Quaternion;
  axis: Vector3;
  /** The joint whose position this one follows (itself, as a rule): multiplier * leader + offset. */
  leader: string;
  multiplier: number;
  offset: number;
  value: number;
}

const spin = new Quaternion();
const shift = new Vector3();

/** The joint at the end of a chain of mimics; chains that go in a circle end somewhere in it. */
function leaderOf(
  joint: Joint,
  byName: Map<string, Joint>,
): Pick<MovedJoint, "leader" | "multiplier" | "offset"> {
  let multiplier = 1;
  let offset = 0;
  let leader = joint;
  for (let n = 0; leader.mimic && n < byName.size; n += 1) {
    offset += multiplier * leader.mimic.offset;
    multiplier *= leader.mimic.multiplier;
    leader = byName.get(leader.mimic.joint) ?? { ...leader, mimic: null };
  }
  return { leader: leader.name, multiplier, offset };
}

export class Figure {
  /** The base link: its pose is that of the robot in the world. */
  readonly root = new Group();
  readonly links = new Map<string, Group>();
  readonly joints = new Map<string, MovedJoint>();
  readonly meshes: Mesh[] = [];

  /** How high the base is where neither the description nor a stream says it, m. */
  private liftM = 0;

  constructor(readonly model: RobotModel) {
    this.links.set(model.base, this.root);
    const byName = new Map(model.joints.map((joint) => [joint.name, joint]));
    for (const facts of model.joints) {
      const node = new Group();
      this.links.get(facts.parent)?.add(node);
      this.links.set(facts.child, node);
      this.joints.set(facts.name, {
        facts,
        node,
        origin: new Vector3(...facts.xyz),
        turn: quaternionOf(facts.rpy),
        axis: new Vector3(...facts.axis).normalize(),
        value: 0,
        ...leaderOf(facts, byName),
      });
    }
    this.rest();
    this.home();
  }

  /** Give the links their looks; the same geometries may dress two figures. */
  dress(
    geometries: ReadonlyMap<string, BufferGeometry>,
    materials: readonly Material[],
    onMesh?: (mesh: Mesh) => void,
  ): void {
    for (const [name, geometry] of geometries) {
      for (const material of materials) {
        const mesh = new Mesh(geometry, material);
        mesh.name = name;
        this.links.get(name)?.add(mesh);
        this.meshes.push(mesh);
        onMesh?.(mesh);
      }
    }
  }

  /** All joints as the robot stands. */
  rest(): void {
    this.setJoints(() => undefined);
  }

  /** The base where it is when nothing says otherwise: upright, its feet on the floor. */
  home(): void {
    this.root.position.set(0, 0, this.model.standing?.height ?? this.liftM);
    this.root.quaternion.identity();
  }

  /** Put the lowest of a robot that does not say how it stands on the floor. */
  liftBy(heightM: number): void {
    if (this.model.standing || !this.model.floating) return;
    this.liftM += heightM;
    this.home();
  }

  /** Joints from one sample; those without a column, or without a number in it, are at rest. */
  pose(drive: JointMotion, values: Float32Array): void {
    const given = new Map<string, number>();
    for (const { column, joint, factor } of drive.columns) {
      const value = (values[column] ?? Number.NaN) * factor;
      if (Number.isFinite(value)) given.set(joint, value);
    }
    this.setJoints((name) => given.get(name));
  }

  private setJoints(positionOf: (name: string) => number | undefined): void {
    for (const joint of this.joints.values()) {
      const own =
        joint.multiplier * (positionOf(joint.leader) ?? this.model.rest[joint.leader] ?? 0) +
        joint.offset;
      joint.value = positionOf(joint.facts.name) ?? own;
      if (joint.facts.type === "prismatic") {
        shift.copy(joint.axis).multiplyScalar(joint.value).applyQuaternion(joint.turn);
        joint.node.position.copy(joint.origin).add(shift);
        joint.node.quaternion.copy(joint.turn);
      } else {
        joint.node.position.copy(joint.origin);
        joint.node.quaternion
          .copy(joint.turn)
          .multiply(spin.setFromAxisAngle(joint.axis, joint.value));
      }
    }
  }

  /** The base from one sample; false where it holds no numbers. */
  place(track: PoseTrack, values: Float32Array): boolean {
    return setPose(this.root, track, values);
  }

  /** The pose of a link or frame in the world, by name; null where there is none. */
  poseOf(name: string): Matrix4 | null {
    const frame = this.model.frames.find((each) => each.name === name);
    const node = this.links.get(frame?.link ?? name);
    if (!node) return null;
    node.updateWorldMatrix(true, false);
    return frame
      ? node.matrixWorld.clone().multiply(placement(frame.xyz, frame.rpy))
      : node.matrixWorld.clone();
  }

  /** The centre of mass in the world; null for a robot without masses. */
  centreOfMass(): Vector3 | null {
    this.root.updateWorldMatrix(true, true);
    const sum = new Vector3();
    let mass = 0;
    for (const link of this.model.links) {
      const node = this.links.get(link.name);
      if (!node || !link.mass || !link.com) continue;
      sum.addScaledVector(shift.set(...link.com).applyMatrix4(node.matrixWorld), link.mass);
      mass += link.mass;
    }
    return mass > 0 ? sum.divideScalar(mass) : null;
  }
}

/** Put a node where a sample of a pose stream says; false where it holds no numbers. */
export function setPose(node: Group | Mesh, track: PoseTrack, values: Float32Array): boolean {
  const [x, y, z] = track.position.map((place) => values[place] ?? Number.NaN) as [
    number,
    number,
    number,
  ];
  const [qw, qx, qy, qz] = track.quaternion.map((place) => values[place] ?? Number.NaN) as [
    number,
    number,
    number,
    number,
  ];
  const length = Math.hypot(qw, qx, qy, qz);
  if (!Number.isFinite(x + y + z) || !(length > 1e-6) || !Number.isFinite(length)) return false;
  node.position.set(x, y, z);
  node.quaternion.set(qx / length, qy / length, qz / length, qw / length);
  return true;
}
