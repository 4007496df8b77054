// The solids of a person in two draw calls: tapered limbs, and balls that round their ends.
import {
  type BufferGeometry,
  type Color,
  CylinderGeometry,
  DynamicDrawUsage,
  Group,
  InstancedMesh,
  Matrix4,
  MeshLambertMaterial,
  Quaternion,
  SphereGeometry,
  Vector3,
} from "three";
import { type Body, TAPER } from "./skeleton";

const up = new Vector3(0, 0, 1);

/** A limb of length and radius one about z, from its thick end at the origin. */
function limbGeometry(): BufferGeometry {
  return new CylinderGeometry(TAPER, 1, 1, 16, 1, true).rotateX(Math.PI / 2).translate(0, 0, 0.5);
}

/** What puts such a limb between two points; nothing is seen of one without a length. */
export function limbMatrix(from: Vector3, to: Vector3, radius: number): Matrix4 {
  const along = to.clone().sub(from);
  const length = along.length();
  const turn = new Quaternion().setFromUnitVectors(
    up,
    length > 0 ? along.divideScalar(length) : up,
  );
  return new Matrix4().compose(from, turn, new Vector3(radius, radius, length));
}

export class PersonBody {
  readonly group = new Group();
  private readonly paint: MeshLambertMaterial;
  private readonly limbs: InstancedMesh;
  private readonly balls: InstancedMesh;

  constructor(colour: Color, mostLimbs: number, mostBalls: number) {
    this.paint = new MeshLambertMaterial({ color: colour });
    this.limbs = this.many(limbGeometry(), mostLimbs);
    this.balls = this.many(new SphereGeometry(1, 20, 14), mostBalls);
    this.group.add(this.limbs, this.balls);
  }

  /** Show a body with its points (3 numbers each) where they are. */
  draw({ bones, balls }: Body, points: Float32Array): void {
    const place = (at: number) => new Vector3().fromArray(points, 3 * at);
    for (const [n, { from, to, radius }] of bones.entries()) {
      this.limbs.setMatrixAt(n, limbMatrix(place(from), place(to), radius));
    }
    for (const [n, { at, radius }] of balls.entries()) {
      const size = new Matrix4().makeScale(radius, radius, radius);
      this.balls.setMatrixAt(n, size.setPosition(place(at)));
    }
    this.limbs.count = bones.length;
    this.balls.count = balls.length;
    for (const mesh of [this.limbs, this.balls]) mesh.instanceMatrix.needsUpdate = true;
  }

  dispose(): void {
    for (const mesh of [this.limbs, this.balls]) {
      mesh.geometry.dispose();
      mesh.dispose();
    }
    this.paint.dispose();
  }

  private many(geometry: BufferGeometry, most: number): InstancedMesh {
    const mesh = new InstancedMesh(geometry, this.paint, Math.max(most, 1));
    mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    mesh.count = 0;
    mesh.castShadow = true;
    mesh.receiveShadow = true;
    // The bounds of instances would be those of the first sample.
    mesh.frustumCulled = false;
    return mesh;
  }
}
