// Where the cameras look: a pyramid each, with the picture of the moment where it has one.
import {
  BufferAttribute,
  BufferGeometry,
  type Color,
  DoubleSide,
  Group,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  MeshBasicMaterial,
  SRGBColorSpace,
  type Texture,
  TextureLoader,
} from "three";
import { pictureAddress } from "../api/movie";
import type { CameraPlace } from "../api/schema";
import { getStamps } from "../api/stamps";
import { frameAt } from "../player/clock";
import type { Figure } from "./figure";
import { placement } from "./shapes";

const farM = 0.22;
const restMs = 350;
const pictureWidth = 240;

interface Frustum {
  place: CameraPlace;
  node: Group;
  pane: Mesh<BufferGeometry, MeshBasicMaterial>;
  stamps: ArrayLike<number> | null;
  frame: number;
}

export class Frustums {
  readonly group = new Group();
  private readonly frustums: Frustum[];
  private readonly line: LineBasicMaterial;
  private readonly loader = new TextureLoader();
  private later = 0;
  private isOver = false;

  constructor(
    private readonly id: string,
    places: readonly CameraPlace[],
    figure: Figure | null,
    colour: Color,
    private readonly onPicture: () => void,
    /** What moves with the head of a person who wears a camera. */
    private readonly head: Group | undefined = undefined,
  ) {
    this.line = new LineBasicMaterial({ color: colour });
    this.frustums = places.map((place) => this.make(place, figure));
  }

  /** Show them, or not; pictures follow when the clock has rested for a moment. */
  update(timeNs: number, isShown: boolean): void {
    for (const { node } of this.frustums) node.visible = isShown;
    clearTimeout(this.later);
    if (isShown) this.later = window.setTimeout(() => void this.fetch(timeNs), restMs);
  }

  dispose(): void {
    this.isOver = true;
    clearTimeout(this.later);
    this.line.dispose();
    for (const { node, pane } of this.frustums) {
      node.removeFromParent();
      pane.material.map?.dispose();
      pane.material.dispose();
      for (const child of node.children)
        if (child instanceof Mesh || child instanceof LineSegments) child.geometry.dispose();
    }
  }

  private make(place: CameraPlace, figure: Figure | null): Frustum {
    const node = new Group();
    const frame = figure?.model.frames.find((each) => each.name === place.link);
    const pose = placement(place.xyz, place.rpy);
    if (frame) pose.premultiply(placement(frame.xyz, frame.rpy));
    pose.decompose(node.position, node.quaternion, node.scale);
    const link = place.link && figure?.links.get(frame?.link ?? place.link);
    const worn = place.link === "head" && !link ? this.head : undefined;
    (link || worn || this.group).add(node);
    const [x, y] = [Math.tan(place.width_rad / 2) * farM, Math.tan(place.height_rad / 2) * farM];
    const at = (right: number, down: number): [number, number, number] =>
      place.looks_along === "z" ? [right * x, down * y, farM] : [farM, -right * x, -down * y];
    const corners = [at(-1, -1), at(1, -1), at(1, 1), at(-1, 1)];
    const edges = corners.flatMap((corner, n) => [
      [0, 0, 0],
      corner,
      corner,
      corners[(n + 1) % 4] as [number, number, number],
    ]);
    const lines = new BufferGeometry();
    lines.setAttribute("position", new BufferAttribute(new Float32Array(edges.flat()), 3));
    const flat = new BufferGeometry();
    flat.setAttribute("position", new BufferAttribute(new Float32Array(corners.flat()), 3));
    flat.setAttribute("uv", new BufferAttribute(new Float32Array([0, 1, 1, 1, 1, 0, 0, 0]), 2));
    flat.setIndex([0, 1, 2, 0, 2, 3]);
    const paint = new MeshBasicMaterial({ side: DoubleSide, toneMapped: false });
    const pane = new Mesh(flat, paint);
    pane.visible = false;
    node.add(new LineSegments(lines, this.line), pane);
    return { place, node, pane, stamps: null, frame: -1 };
  }

  private async fetch(timeNs: number): Promise<void> {
    await Promise.all(
      this.frustums.map(async (each) => {
        try {
          each.stamps ??= await getStamps(this.id, each.place.stream);
          const frame = frameAt(each.stamps, timeNs);
          if (frame < 0 || frame === each.frame || this.isOver) return;
          const address = pictureAddress(this.id, each.place.stream, frame, pictureWidth);
          this.hang(each, frame, await this.loader.loadAsync(address));
        } catch {
          // A camera without a picture keeps its empty pyramid.
        }
      }),
    );
  }

  private hang(each: Frustum, frame: number, picture: Texture): void {
    if (this.isOver) {
      picture.dispose();
      return;
    }
    picture.colorSpace = SRGBColorSpace;
    each.pane.material.map?.dispose();
    each.pane.material.map = picture;
    each.pane.material.needsUpdate = true;
    each.pane.visible = true;
    each.frame = frame;
    this.onPicture();
  }
}
