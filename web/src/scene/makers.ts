// Bodies as makers build them, where their meshes are not at hand: colours, heads, chests, hips, feet.

import type { BufferGeometry } from "three";
import { Color, SphereGeometry, TorusGeometry, Vector3 } from "three";
import type { RobotModel, Shape } from "../api/schema";
import { loft, type Ring } from "./loft";
import { cylinder, painted, roundedBox } from "./shapes";

export interface Maker {
  shell: Color;
  dark: Color;
  /** Links painted dark although they are no hands or feet. */
  isDark: (link: string) => boolean;
  head: (head: Shape) => BufferGeometry[];
  chest: (box: Extent) => BufferGeometry[];
  hips: (box: Extent) => BufferGeometry[];
  /** Whether arms end in five fingers where no joint moves any; a ball else. */
  hasFingers: boolean;
}

/** What the shapes of a link reach to, in its own axes. */
export interface Extent {
  low: Vector3;
  high: Vector3;
  middle: Vector3;
  half: Vector3;
}

const white = new Color("#e4e6e8");
const silver = new Color("#c3c7cb");
const graphite = new Color("#4a4e55");
const coal = new Color("#2c2f34");
const glass = new Color("#050607");
const light = new Color("#bfe4ff");

export function extentOf(shapes: readonly Shape[]): Extent {
  const low = new Vector3(Infinity, Infinity, Infinity);
  const high = low.clone().negate();
  for (const { type, size, xyz } of shapes) {
    const [a = 0.02, b = 0, c = 0] = size;
    const reach =
      type === "box"
        ? new Vector3(a / 2, b / 2, c / 2)
        : new Vector3(a, a, a + (type === "sphere" ? 0 : b / 2));
    low.min(new Vector3(...xyz).sub(reach));
    high.max(new Vector3(...xyz).add(reach));
  }
  const middle = low.clone().add(high).multiplyScalar(0.5);
  return { low, high, middle, half: high.clone().sub(middle) };
}

/** Rings between the bottom and the top of an extent; `share` 0 to 1, widths as shares of its half widths. */
function rings(box: Extent, table: readonly [number, number, number, number?][]): Ring[] {
  const tall = box.high.z - box.low.z;
  return table.map(([share, deep, wide, off = 0]) => ({
    at: box.low.z + share * tall,
    off: box.middle.x + off * box.half.x,
    deep: deep * box.half.x,
    wide: wide * box.half.y,
  }));
}

function oval(head: Shape, x: number, z: number, wide: number, tall: number): BufferGeometry {
  const radius = head.size[0] ?? 0.06;
  const [hx, hy, hz] = head.xyz;
  return new SphereGeometry(radius, 24, 16)
    .scale(0.5, wide, tall)
    .translate(hx + x * radius, hy, hz + z * radius);
}

function ring(head: Shape, x: number, wide: number, tall: number, thick: number): BufferGeometry {
  const radius = head.size[0] ?? 0.06;
  const [hx, hy, hz] = head.xyz;
  return new TorusGeometry(radius, thick * radius, 10, 40)
    .rotateY(Math.PI / 2)
    .scale(1, wide, tall)
    .translate(hx + x * radius, hy, hz);
}

function neck(head: Shape, radius: number): BufferGeometry {
  const [x, y, z] = head.xyz;
  const below = (head.size[0] ?? 0.06) + (head.size[1] ?? 0) / 2;
  return cylinder(radius, 2 * below).translate(x - 0.01, y, z - below);
}

const g1: Maker = {
  shell: silver,
  dark: coal,
  isDark: (link) => /hip_pitch|ankle|waist|wrist_yaw/.test(link),
  hasFingers: true,
  // A dark helmet that leans forward, around an open oval face.
  head: (head) => [
    painted(
      loft(
        rings(extentOf([head]), [
          [0.0, 0.35, 0.45, 0.2],
          [0.12, 0.6, 0.7, 0.35],
          [0.35, 0.85, 0.9, 0.3],
          [0.6, 1.12, 1.08, 0.15],
          [0.8, 1.2, 1.1, -0.05],
          [0.93, 0.9, 0.85, -0.2],
          [1.0, 0.35, 0.35, -0.3],
        ]),
        2.2,
      ),
      coal,
    ),
    painted(oval(head, 0.72, -0.15, 0.62, 1.05), glass),
    painted(ring(head, 0.98, 0.62, 1.02, 0.045), light),
    painted(neck(head, 0.036), coal),
  ],
  chest: (box) => [
    painted(
      loft(
        rings(box, [
          [0.0, 0.62, 0.55],
          [0.12, 0.85, 0.72],
          [0.45, 1.0, 0.98],
          [0.72, 1.06, 1.16],
          [0.88, 0.95, 1.12, -0.05],
          [1.0, 0.55, 0.72, -0.1],
        ]),
        3,
      ),
      silver,
    ),
    painted(
      roundedBox(0.012, 0.9 * box.half.y, 0.02).translate(
        box.middle.x + 1.04 * box.half.x,
        0,
        box.low.z + 0.76 * (box.high.z - box.low.z),
      ),
      coal,
    ),
  ],
  hips: (box) => [
    painted(
      loft(
        rings(box, [
          [0.0, 0.35, 0.4],
          [0.25, 0.75, 0.85],
          [0.7, 0.95, 1.1],
          [1.0, 0.7, 0.85],
        ]),
        3,
      ),
      silver,
    ),
  ],
};

const h1: Maker = {
  shell: graphite,
  dark: new Color("#8b9097"),
  isDark: (link) => /hip_yaw|shoulder_pitch/.test(link),
  hasFingers: false,
  // A hoop that is open, with the scanner inside it.
  head: (head) => [
    painted(ring(head, 0.1, 0.98, 1.45, 0.22), coal),
    painted(ring(head, 0.32, 0.98, 1.45, 0.05), light),
    painted(
      cylinder(0.42 * (head.size[0] ?? 0.06), 0.9 * (head.size[0] ?? 0.06)).translate(...head.xyz),
      glass,
    ),
    painted(neck(head, 0.03).translate(-0.02, 0, -0.06), coal),
  ],
  chest: (box) => [
    painted(
      loft(
        rings(box, [
          [0.0, 0.7, 0.55],
          [0.3, 0.85, 0.72],
          [0.65, 1.0, 1.1],
          [0.86, 0.95, 1.28],
          [1.0, 0.55, 0.8],
        ]),
        3.4,
      ),
      graphite,
    ),
    painted(
      roundedBox(0.014, 0.8 * box.half.y, 0.028).translate(
        box.middle.x + 0.98 * box.half.x,
        0,
        box.low.z + 0.74 * (box.high.z - box.low.z),
      ),
      silver,
    ),
  ],
  hips: (box) => [
    painted(
      loft(
        rings(box, [
          [0.0, 0.5, 0.6],
          [0.3, 1.0, 1.2],
          [0.8, 1.1, 1.45],
          [1.0, 0.8, 1.1],
        ]),
        3.4,
      ),
      coal,
    ),
  ],
};

const gr1: Maker = {
  shell: new Color("#9aa0a8"),
  dark: coal,
  isDark: (link) => /roll_link|waist|lower_arm/.test(link),
  hasFingers: true,
  // A helmet drawn out to the back, its whole face a dark screen.
  head: (head) => [
    painted(
      loft(
        rings(extentOf([head]), [
          [0.0, 0.5, 0.5, 0.05],
          [0.15, 0.85, 0.8, 0.0],
          [0.45, 1.12, 1.02, -0.1],
          [0.75, 1.2, 1.06, -0.2],
          [0.92, 0.85, 0.8, -0.25],
          [1.0, 0.35, 0.35, -0.25],
        ]),
        2.3,
      ),
      graphite,
    ),
    painted(oval(head, 0.62, 0.0, 0.9, 1.15), glass),
    painted(neck(head, 0.04), coal),
  ],
  chest: (box) => [
    painted(
      loft(
        rings(box, [
          [0.0, 0.55, 0.5],
          [0.25, 0.8, 0.78],
          [0.6, 1.0, 1.05, 0.05],
          [0.82, 0.98, 1.15, 0.0],
          [1.0, 0.5, 0.7, -0.1],
        ]),
        2.6,
      ),
      new Color("#9aa0a8"),
    ),
  ],
  hips: (box) => [
    painted(
      loft(
        rings(box, [
          [0.0, 0.6, 0.5],
          [0.4, 1.0, 0.85],
          [0.8, 1.0, 0.9],
          [1.0, 0.7, 0.6],
        ]),
        3,
      ),
      graphite,
    ),
  ],
};

const walker: Maker = {
  shell: white,
  dark: graphite,
  isDark: (link) => /ankle|waist_yaw|wrist_pitch/.test(link),
  hasFingers: true,
  // A white head, wide as it is tall, with a round dark display.
  head: (head) => [
    painted(
      loft(
        rings(extentOf([head]), [
          [0.0, 0.5, 0.55],
          [0.2, 0.92, 0.95],
          [0.5, 1.05, 1.12],
          [0.8, 0.95, 1.0],
          [1.0, 0.4, 0.45],
        ]),
        2.4,
      ),
      white,
    ),
    painted(oval(head, 0.66, 0.02, 0.86, 0.8), glass),
    painted(ring(head, 0.86, 0.84, 0.78, 0.03), light),
    painted(neck(head, 0.042), graphite),
  ],
  chest: (box) => [
    painted(
      loft(
        rings(box, [
          [0.0, 0.55, 0.5],
          [0.2, 0.85, 0.75],
          [0.55, 1.02, 1.05],
          [0.82, 1.0, 1.2],
          [1.0, 0.5, 0.75],
        ]),
        2.8,
      ),
      white,
    ),
    painted(
      roundedBox(0.012, 0.05, 0.014).translate(
        box.middle.x + 1.02 * box.half.x,
        0,
        box.low.z + 0.68 * (box.high.z - box.low.z),
      ),
      light,
    ),
  ],
  hips: g1.hips,
};

const families: [RegExp, Maker][] = [
  [/^g1(_|$)/, g1],
  [/^h1(_|$)/, h1],
  [/^gr_?1/, gr1],
  [/^walker/, walker],
];

/** How the maker of a robot builds it; null for robots that nobody drew. */
export function makerOf(model: Pick<RobotModel, "name">): Maker | null {
  return families.find(([name]) => name.test(model.name))?.[1] ?? null;
}
