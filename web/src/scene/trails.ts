// Where hands and head went during the last second.
import {
  BufferAttribute,
  BufferGeometry,
  type Color,
  Group,
  Line,
  LineBasicMaterial,
  Points,
  PointsMaterial,
  Vector3,
} from "three";
import type { PoseLookup } from "./pose_lookup";

const lengthNs = 1e9;
const stepNs = 4e7;
const count = lengthNs / stepNs + 1;
const mostKept = 4000;

export class Trails {
  readonly group = new Group();
  private readonly known = new Map<number, Vector3[]>();
  private readonly lines: Line<BufferGeometry, LineBasicMaterial>[];
  private readonly beads: Points<BufferGeometry, PointsMaterial>[];

  constructor(
    private readonly poses: PoseLookup,
    private readonly places: readonly string[],
    private readonly startNs: number,
    colours: readonly Color[],
  ) {
    this.lines = places.map((_, place) => this.line(colours[place % colours.length] as Color));
    // Lines are one picture element thin everywhere: beads make them seen.
    this.beads = this.lines.map((line) => this.bead(line));
    this.group.add(...this.lines, ...this.beads);
  }

  /** Draw the second before a time; places that were known once are not worked out again. */
  update(timeNs: number): void {
    const last = Math.floor(timeNs / stepNs);
    const rows: Vector3[][] = [];
    for (let n = last - count + 2; n <= last; n += 1) {
      const row = n * stepNs >= this.startNs ? this.at(n * stepNs, n) : null;
      if (row) rows.push(row);
    }
    const now = this.at(timeNs, null);
    if (now) rows.push(now);
    for (const [place, line] of this.lines.entries()) this.draw(line, rows, place);
  }

  dispose(): void {
    for (const line of this.lines) {
      line.geometry.dispose();
      line.material.dispose();
    }
    for (const bead of this.beads) bead.material.dispose();
  }

  private at(timeNs: number, number: number | null): Vector3[] | null {
    const kept = number === null ? undefined : this.known.get(number);
    if (kept) return kept;
    const figure = this.poses.at(timeNs);
    if (!figure) return null;
    const found = this.places.map((name) => {
      const pose = figure.poseOf(name);
      return pose ? new Vector3().setFromMatrixPosition(pose) : new Vector3();
    });
    if (this.known.size > mostKept) this.known.clear();
    if (number !== null) this.known.set(number, found);
    return found;
  }

  private line(colour: Color): Line<BufferGeometry, LineBasicMaterial> {
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(new Float32Array(count * 3), 3));
    geometry.setAttribute("color", new BufferAttribute(new Float32Array(count * 4), 4));
    const material = new LineBasicMaterial({
      color: colour,
      vertexColors: true,
      transparent: true,
      depthWrite: false,
    });
    const line = new Line(geometry, material);
    line.frustumCulled = false;
    return line;
  }

  private bead(
    line: Line<BufferGeometry, LineBasicMaterial>,
  ): Points<BufferGeometry, PointsMaterial> {
    const material = new PointsMaterial({
      color: line.material.color,
      size: 0.014,
      vertexColors: true,
      transparent: true,
      depthWrite: false,
    });
    const bead = new Points(line.geometry, material);
    bead.frustumCulled = false;
    return bead;
  }

  private draw(
    line: Line<BufferGeometry, LineBasicMaterial>,
    rows: Vector3[][],
    place: number,
  ): void {
    const position = line.geometry.getAttribute("position") as BufferAttribute;
    const colour = line.geometry.getAttribute("color") as BufferAttribute;
    rows.forEach((row, n) => {
      const at = row[place] as Vector3;
      position.setXYZ(n, at.x, at.y, at.z);
      colour.setXYZW(n, 1, 1, 1, (n + 1) / rows.length);
    });
    position.needsUpdate = true;
    colour.needsUpdate = true;
    line.geometry.setDrawRange(0, rows.length);
  }
}
