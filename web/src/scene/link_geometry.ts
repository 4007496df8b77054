// What each link looks like: light shells where the robot's description has shapes, dark motors
// in its joints, and dark bones between them, so that no limb floats in the air.
import { type BufferGeometry, type Color, Quaternion, SphereGeometry, Vector3 } from "three";
import { mergeGeometries } from "three/examples/jsm/utils/BufferGeometryUtils.js";
import type { Joint, LinkFacts, RobotModel, Shape } from "../api/schema";
import { fingerBone, hand, isFinger, shoe } from "./hands_and_feet";
import { extentOf, type Maker, makerOf } from "./makers";
import type { Palette } from "./palette";
import { capsule, cylinder, painted, roundedBox, shells, slimness } from "./shapes";

const up = new Vector3(0, 0, 1);

/** The names of the links that touch the world: drawn dark, like the soles and grips they are. */
function contactLinks(model: RobotModel): Set<string> {
  const places = [...Object.values(model.feet), ...hands(model)];
  return new Set(places.map((place) => linkOf(model, place)));
}

function hands(model: RobotModel): string[] {
  return Object.entries(model.end_effectors)
    .filter(([name]) => name.includes("hand"))
    .map(([, place]) => place);
}

export function linkOf(model: RobotModel, place: string): string {
  return model.frames.find((frame) => frame.name === place)?.link ?? place;
}

function size(link: LinkFacts | undefined): number | null {
  const found = link?.shapes.map(slimness) ?? [];
  return found.length ? Math.min(...found) : null;
}

/** How thick the motor of a joint is drawn: a little less than the thinner of its two links. */
function thickness(joint: Joint, model: RobotModel): number {
  const both = [joint.parent, joint.child].map((name) =>
    size(model.links.find((link) => link.name === name)),
  );
  const known = both.filter((value): value is number => value !== null);
  const usual = 0.032 * Math.max((model.standing?.height ?? 0.8) / 0.8, 0.6);
  return Math.min(Math.max(known.length ? 0.86 * Math.min(...known) : usual, 0.008), 0.05);
}

function bone(to: Vector3, radius: number): BufferGeometry {
  const turn = new Quaternion().setFromUnitVectors(up, to.clone().normalize());
  const middle = to.clone().multiplyScalar(0.5);
  return capsule(radius, to.length()).applyQuaternion(turn).translate(middle.x, middle.y, middle.z);
}

function motor(axis: Vector3, radius: number): BufferGeometry {
  return cylinder(radius, 2.1 * radius).applyQuaternion(
    new Quaternion().setFromUnitVectors(up, axis),
  );
}

/** The shape that is the head: the highest of the link that carries it. */
function headShape(model: RobotModel, link: LinkFacts): Shape | null {
  const place = model.end_effectors.head;
  if (!place || linkOf(model, place) !== link.name || !link.shapes.length) return null;
  return link.shapes.reduce((high, shape) => (shape.xyz[2] > high.xyz[2] ? shape : high));
}

/** A face, so that one sees at once where the robot looks. */
function visor(head: Shape): BufferGeometry {
  const radius =
    head.type === "box"
      ? Math.max(head.size[0] ?? 0.1, head.size[1] ?? 0.1) / 2
      : (head.size[0] ?? 0.05);
  const [x, y, z] = head.xyz;
  const face = new SphereGeometry(radius, 20, 14).scale(0.7, 0.82, 0.72);
  return face.translate(x + 0.42 * radius, y, z + 0.32 * radius);
}

/** A hand that ends in a gripper keeps its root only; the fingers move by themselves. */
function palm(shape: Shape, endM: number): Shape {
  const [long = 0, , high = 0] = shape.size;
  const start = shape.xyz[0] - long / 2;
  const length = Math.max(endM - start, 0.02);
  return { ...shape, size: [length, 0.06, Math.min(high, 0.06)], xyz: [start + length / 2, 0, 0] };
}

/** One geometry per link, with its colours inside; links without any look are left out. */
export function linkGeometries(
  model: RobotModel,
  palette: Palette,
  palms: ReadonlyMap<string, number>,
): Map<string, BufferGeometry> {
  const contact = contactLinks(model);
  const maker = makerOf(model);
  const found = new Map<string, BufferGeometry>();
  for (const link of model.links) {
    const end = palms.get(link.name);
    const shapes = link.shapes.map((shape) =>
      end !== undefined && shape.type === "box" ? palm(shape, end) : shape,
    );
    const colours = maker ? { ...palette, shell: maker.shell, dark: maker.dark } : palette;
    const isDark = contact.has(link.name) || maker?.isDark(link.name);
    const parts = maker
      ? madeLook({ ...link, shapes }, model, colours, maker, end !== undefined)
      : look({ ...link, shapes }, model, colours, isDark ? colours.dark : colours.shell);
    if (parts.length) found.set(link.name, mergeGeometries(parts));
  }
  return found;
}

/** A link as its maker builds it: what is characteristic is drawn, the rest stays as described. */
function madeLook(
  link: LinkFacts,
  model: RobotModel,
  palette: Palette,
  maker: Maker,
  isGripper: boolean,
): BufferGeometry[] {
  const shell = maker.isDark(link.name) ? palette.dark : palette.shell;
  if (isFinger(link)) return fingerBone(link, model, palette.dark);
  const head = headShape(model, link);
  const isHand = hands(model).some((place) => linkOf(model, place) === link.name);
  const hasJoints = model.joints.some((joint) => joint.parent === link.name);
  const own: BufferGeometry[] = [];
  let rest = link.shapes;
  const take = (shapes: readonly Shape[], made: BufferGeometry[]) => {
    rest = rest.filter((shape) => !shapes.includes(shape));
    own.push(...made);
  };
  if (head) take([head], maker.head(head));
  if (link.name === model.base && rest.length) take(rest, maker.hips(extentOf(rest)));
  else if (carriesArms(link, model) && rest.length) take(rest, maker.chest(extentOf(rest)));
  const box = rest.find((shape) => shape.type === "box");
  const isFoot = Object.values(model.feet).some((place) => linkOf(model, place) === link.name);
  if (box && isFoot) take([box], [shoe(box, darker(palette))]);
  else if (box && isHand && maker.hasFingers && !isGripper && !hasJoints)
    take([box], hand(box, box.xyz[1] < 0 ? 1 : -1, darker(palette)));
  else if (box && isHand && hasJoints) take([box], palmOf(link, model, box, darker(palette)));
  const isContact = isFoot || isHand;
  return [
    ...own,
    ...look({ ...link, shapes: rest }, model, palette, isContact ? darker(palette) : shell, false),
  ];
}

/** The palm of a hand whose fingers move: from the wrist to where they begin. */
function palmOf(link: LinkFacts, model: RobotModel, box: Shape, colour: Color): BufferGeometry[] {
  const roots = model.joints.filter((joint) => joint.parent === link.name);
  const end = Math.max(...roots.map((joint) => joint.xyz[0]));
  const short = palm(box, Math.min(end, box.xyz[0] + (box.size[0] ?? 0) / 2));
  return shells([short]).map((geometry) => painted(geometry, colour));
}

/** Hands and feet are dark also of robots whose motors are bright. */
function darker({ dark, shell }: Palette): Color {
  return dark.getHSL({ h: 0, s: 0, l: 0 }).l < shell.getHSL({ h: 0, s: 0, l: 0 }).l ? dark : shell;
}

/** Whether both arms hang on a link, as they do on a chest. */
function carriesArms(link: LinkFacts, model: RobotModel): boolean {
  const arms = Object.entries(model.groups).filter(([name]) => /^(left|right)_arm$/.test(name));
  return (
    arms.length === 2 &&
    arms.every(([, [first]]) =>
      model.joints.some((joint) => joint.name === first && joint.parent === link.name),
    )
  );
}

function look(
  link: LinkFacts,
  model: RobotModel,
  palette: Palette,
  shell: Color,
  hasFace = true,
): BufferGeometry[] {
  const parts = shells(link.shapes).map((geometry) => painted(geometry, shell));
  const inner = model.joints.find((joint) => joint.child === link.name);
  if (inner && inner.type === "revolute") {
    parts.push(painted(motor(new Vector3(...inner.axis), thickness(inner, model)), palette.dark));
  }
  for (const joint of model.joints) {
    const to = new Vector3(...joint.xyz);
    if (joint.parent !== link.name || to.length() < 0.015) continue;
    parts.push(painted(bone(to, 0.72 * thickness(joint, model)), palette.dark));
  }
  const head = hasFace ? headShape(model, link) : null;
  if (head) {
    const neck = bone(new Vector3(...head.xyz), 0.62 * slimness(head));
    parts.push(painted(visor(head), palette.visor), painted(neck, palette.dark));
  }
  return parts;
}

/** A finger of a gripper: a bar with a soft pad on its inner side. */
export function fingerGeometry(side: 1 | -1, palette: Palette): BufferGeometry {
  const root = roundedBox(0.02, 0.05, 0.022).translate(0, -side * 0.012, 0);
  const bar = roundedBox(0.075, 0.014, 0.026).translate(0.0325, side * 0.011, 0);
  const pad = roundedBox(0.048, 0.008, 0.03).translate(0.046, side * 0.004, 0);
  return mergeGeometries([
    painted(root, palette.dark),
    painted(bar, palette.shell),
    painted(pad, palette.visor),
  ]);
}
