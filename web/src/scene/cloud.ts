// A point cloud: the last scan before the clock, where the sensor was when it was taken.
import {
  BufferAttribute,
  BufferGeometry,
  type Color,
  type Matrix4,
  Points,
  ShaderMaterial,
} from "three";
import { getScan, type Scan } from "../api/points";
import type { PointCloudStream } from "../api/schema";
import { getStamps } from "../api/stamps";
import { frameAt } from "../player/clock";
import type { PoseLookup } from "./pose_lookup";
import { placement } from "./shapes";

const mostScans = 24;

const vertex = `
attribute float shine;
uniform float fineness;
varying float height;
varying float light;
void main() {
  vec4 world = modelMatrix * vec4(position, 1.0);
  height = world.z;
  light = shine;
  vec4 seen = viewMatrix * world;
  gl_Position = projectionMatrix * seen;
  gl_PointSize = fineness * clamp(10.0 / -seen.z, 2.0, 5.0);
}`;

const fragment = `
uniform vec3 low;
uniform vec3 high;
varying float height;
varying float light;
void main() {
  vec2 off = gl_PointCoord - 0.5;
  if (dot(off, off) > 0.25) discard;
  vec3 tone = mix(low, high, clamp(height / 1.8, 0.0, 1.0));
  gl_FragColor = vec4(tone * (0.55 + 0.45 * light), 1.0);
  #include <colorspace_fragment>
}`;

export class Cloud {
  readonly points: Points<BufferGeometry, ShaderMaterial>;
  /** The scan in the picture; -1 while there is none. */
  shown = -1;
  facts: { total: number; step: number } | null = null;
  private stamps: Float64Array | null = null;
  private readonly scans = new Map<number, Scan | null>();
  private readonly control = new AbortController();
  private readonly seat: Matrix4;

  constructor(
    private readonly id: string,
    readonly source: PointCloudStream,
    private readonly poses: PoseLookup | null,
    private readonly onArrival: () => void,
    colours: { low: Color; high: Color },
    fineness: number,
  ) {
    this.seat = placement(source.xyz, source.rpy);
    const material = new ShaderMaterial({
      vertexShader: vertex,
      fragmentShader: fragment,
      uniforms: {
        fineness: { value: fineness },
        low: { value: colours.low },
        high: { value: colours.high },
      },
    });
    this.points = new Points(new BufferGeometry(), material);
    this.points.frustumCulled = false;
    this.points.matrixAutoUpdate = false;
    this.points.visible = false;
    getStamps(id, source.stream, this.control.signal).then(
      (found) => {
        this.stamps = found;
        this.onArrival();
      },
      () => undefined,
    );
  }

  /** True when the picture changed. */
  update(timeNs: number): boolean {
    if (!this.stamps) return false;
    const frame = frameAt(this.stamps, timeNs);
    if (frame === this.shown) return false;
    if (frame < 0) {
      this.shown = -1;
      this.points.visible = false;
      return true;
    }
    const scan = this.scan(frame);
    if (!scan || !this.moveTo(this.stamps[frame] as number)) return false;
    this.show(scan);
    if (frame + 1 < this.stamps.length) this.scan(frame + 1);
    return true;
  }

  dispose(): void {
    this.control.abort();
    this.points.geometry.dispose();
    this.points.material.dispose();
  }

  private moveTo(timeNs: number): boolean {
    this.points.matrix.copy(this.seat);
    if (!this.source.link || !this.poses) return true;
    const pose = this.poses.at(timeNs)?.poseOf(this.source.link);
    if (!pose) return false;
    this.points.matrix.premultiply(pose);
    this.points.matrixWorldNeedsUpdate = true;
    return true;
  }

  private show(scan: Scan): void {
    this.shown = scan.frame;
    this.facts = { total: scan.total, step: scan.step };
    const count = scan.points.length / 3;
    const { position, shine } = this.buffers(count);
    (position.array as Float32Array).set(scan.points);
    if (scan.intensity) (shine.array as Float32Array).set(scan.intensity);
    else (shine.array as Float32Array).fill(1);
    position.needsUpdate = true;
    shine.needsUpdate = true;
    this.points.geometry.setDrawRange(0, count);
    this.points.visible = count > 0;
  }

  /** Buffers for so many points; they are kept from scan to scan, and made anew to grow. */
  private buffers(count: number): { position: BufferAttribute; shine: BufferAttribute } {
    const geometry = this.points.geometry;
    const known = geometry.getAttribute("position") as BufferAttribute | undefined;
    if (!known || known.count < count) {
      geometry.dispose();
      const room = Math.ceil(count * 1.25);
      geometry.setAttribute("position", new BufferAttribute(new Float32Array(room * 3), 3));
      geometry.setAttribute("shine", new BufferAttribute(new Float32Array(room), 1));
    }
    return {
      position: geometry.getAttribute("position") as BufferAttribute,
      shine: geometry.getAttribute("shine") as BufferAttribute,
    };
  }

  private scan(frame: number): Scan | null {
    const known = this.scans.get(frame);
    if (known !== undefined) return known;
    this.scans.set(frame, null);
    while (this.scans.size > mostScans) this.scans.delete(this.scans.keys().next().value as number);
    getScan(this.id, this.source.stream, frame, this.control.signal).then(
      (found) => {
        this.scans.set(frame, found);
        this.onArrival();
      },
      () => this.scans.delete(frame),
    );
    return null;
  }
}
