// The centre of mass, and the point of the floor below it: a robot that falls shows it here first.
import {
  BufferAttribute,
  BufferGeometry,
  type Color,
  Group,
  Line,
  LineBasicMaterial,
  Mesh,
  MeshBasicMaterial,
  RingGeometry,
  SphereGeometry,
} from "three";
import type { Figure } from "./figure";

export class Balance {
  readonly group = new Group();
  private readonly paint: MeshBasicMaterial;
  private readonly ink: LineBasicMaterial;
  private readonly ball: Mesh;
  private readonly ring: Mesh;
  private readonly plumb: Line;

  constructor(colour: Color) {
    this.paint = new MeshBasicMaterial({
      color: colour,
      depthTest: false,
      transparent: true,
      opacity: 0.9,
    });
    this.ink = new LineBasicMaterial({
      color: colour,
      depthTest: false,
      transparent: true,
      opacity: 0.6,
    });
    this.ball = new Mesh(new SphereGeometry(0.016, 16, 12), this.paint);
    this.ring = new Mesh(new RingGeometry(0.022, 0.03, 32), this.paint);
    const line = new BufferGeometry();
    line.setAttribute("position", new BufferAttribute(new Float32Array([0, 0, 0, 0, 0, 1]), 3));
    this.plumb = new Line(line, this.ink);
    this.group.add(this.ball, this.ring, this.plumb);
    this.group.renderOrder = 5;
    for (const each of this.group.children) each.renderOrder = 5;
  }

  update(figure: Figure): void {
    const centre = figure.centreOfMass();
    this.group.visible = centre !== null;
    if (!centre) return;
    this.ball.position.copy(centre);
    this.ring.position.set(centre.x, centre.y, 0.002);
    this.plumb.position.set(centre.x, centre.y, 0);
    this.plumb.scale.z = Math.max(centre.z, 1e-3);
  }

  dispose(): void {
    for (const each of [
      this.ball.geometry,
      this.ring.geometry,
      this.plumb.geometry,
      this.paint,
      this.ink,
    ])
      each.dispose();
  }
}
