// Columns that belong on one plot: the joints of a limb, the values of one unit.
import type { EpisodeStream } from "../api/schema";

export interface ColumnGroup {
  name: string;
  columns: number[];
}

const MOST_LINES = 8;
/** As many as the server gives at once. */
const MOST_COLUMNS = 64;
const ALL = "all";

const limbs: [RegExp, string][] = [
  [/hip|knee|ankle|leg|foot|toe/, "leg"],
  [/thumb|index|middle|ring|pinky|little|finger|hand|grip/, "hand"],
  [/shoulder|elbow|wrist|arm/, "arm"],
  [/waist|torso|spine|trunk/, "waist"],
  [/neck|head/, "head"],
];

/** What a map or a very wide sample is summed up by; the same rule as on the server. */
export function isSummed(stream: EpisodeStream): boolean {
  const size = stream.shape.reduce((product, each) => product * each, 1);
  return size > 256 || (stream.shape.length > 1 && size > 64);
}

export function columnNames(stream: EpisodeStream): string[] {
  if (isSummed(stream)) return ["sum", "max"];
  const size = stream.shape.reduce((product, each) => product * each, 1);
  const names = stream.components;
  if (names && names.length === size) return names;
  if (!stream.shape.length) return [stream.name];
  return Array.from({ length: size }, (_, place) => String(place));
}

export function columnUnits(stream: EpisodeStream): string[] {
  const names = columnNames(stream);
  const { unit } = stream;
  if (typeof unit === "string") return names.map(() => unit);
  if (isSummed(stream)) return names.map(() => "1");
  return names.map((_, place) => unit[place % unit.length] ?? "1");
}

export function limbOf(name: string): string {
  // Some write kLeftHandPinky.
  const text = name.replace(/([a-z])([A-Z])/g, "$1_$2").toLowerCase();
  const limb = limbs.find(([pattern]) => pattern.test(text))?.[1] ?? "other";
  const side = /(^|[_.])(left|l)([_.]|$)/.test(text)
    ? "left "
    : /(^|[_.])(right|r)([_.]|$)/.test(text)
      ? "right "
      : "";
  return side + limb;
}

/** Groups of columns that can be read together; the last one, if there are several, is all. */
export function groupsOf(stream: EpisodeStream): ColumnGroup[] {
  const names = columnNames(stream);
  const units = columnUnits(stream);
  const every = { name: ALL, columns: names.map((_, place) => place).slice(0, MOST_COLUMNS) };
  if (new Set(units).size > 1) return [...gathered(limbsByUnit(names, units) ?? units), every];
  if (names.length <= MOST_LINES) return [every];
  const byLimb = gathered(names.map(limbOf));
  if (stream.components && byLimb.length > 1) return [...byLimb, every];
  const eights = names.map((_, place) => {
    const first = Math.floor(place / MOST_LINES) * MOST_LINES;
    return `${first}–${Math.min(first + MOST_LINES, names.length) - 1}`;
  });
  return [...gathered(eights), every];
}

/** Limbs, those of several units in parts; null where the columns are no joints. */
function limbsByUnit(names: string[], units: string[]): string[] | null {
  const limbs = names.map(limbOf);
  if (limbs.filter((each) => each !== "other").length < names.length / 2) return null;
  const common = (limb: string) => new Set(units.filter((_, place) => limbs[place] === limb)).size;
  return limbs.map((limb, place) =>
    common(limb) > 1 ? `${limb}, ${unitless(units[place] as string)}` : limb,
  );
}

function gathered(labels: string[]): ColumnGroup[] {
  const found = new Map<string, number[]>();
  for (const [place, label] of labels.entries()) {
    found.set(label, [...(found.get(label) ?? []), place]);
  }
  return [...found].map(([name, columns]) => ({ name: unitless(name), columns }));
}

function unitless(name: string): string {
  return name === "1" ? "no unit" : name;
}

/** "left_shoulder_pitch_joint" beside its group "left arm" is just "shoulder pitch". */
export function shortName(name: string, group: string): string {
  let text = name.replace(/_joint$/, "");
  // kLeftHandPinky
  if (/^k?[A-Z][a-z]+[A-Z]/.test(text))
    text = text
      .replace(/^k(?=[A-Z])/, "")
      .replace(/([a-z])([A-Z])/g, "$1_$2")
      .toLowerCase();
  const side = /^(left|right) /.exec(group)?.[1];
  if (side) text = text.replace(new RegExp(`(^|_)${side}(_|$)`), "$1").replace(/^_|_$/g, "");
  const short = text.replace(/^hand_(?=[a-z])/, "");
  return (/hand/.test(group) ? short : text).replaceAll("_", " ");
}
