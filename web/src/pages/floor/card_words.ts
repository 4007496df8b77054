// What the picture of a card shows: the table from above, as the robot stands at it.
import type { EpisodeCard } from "./floor_state";

/** The part of the table that is drawn, in metres: x ahead of the robot, y to its left. */
export interface View {
  left: number;
  right: number;
  near: number;
  far: number;
}

const room = 0.12;

/** Everything that a card speaks of, with room around it, and no flatter than a table is. */
export function viewOf(card: EpisodeCard): View {
  const points = card.places.flatMap(({ x_m, y_m, radius_m }) => [
    { x: x_m - radius_m, y: y_m - radius_m },
    { x: x_m + radius_m, y: y_m + radius_m },
  ]);
  if (card.asked) points.push({ x: card.asked.object_xyz[0], y: card.asked.object_xyz[1] });
  const xs = points.map(({ x }) => x);
  const ys = points.map(({ y }) => y);
  const near = Math.min(...xs) - room;
  const far = Math.max(...xs) + room;
  const middle = (Math.min(...ys) + Math.max(...ys)) / 2;
  const half = Math.max(Math.max(...ys) - middle + room, ((far - near) * 4) / 6);
  return { left: middle + half, right: middle - half, near, far };
}

export type Shape = "box" | "ball" | "round" | "long";

const shapes: [Shape, RegExp][] = [
  ["ball", /ball|sphere|apple|orange|egg/],
  ["round", /cup|mug|can|glass|bottle|cylinder|bowl|plate|jar/],
  ["long", /spoon|fork|knife|pen|tool|bar|stick/],
];

/** How the object is drawn, by the words of the card's levels. */
export function shapeOf(card: EpisodeCard): Shape {
  const words = Object.values(card.levels).join(" ").toLowerCase();
  return shapes.find(([, pattern]) => pattern.test(words))?.[0] ?? "box";
}

const colours = [
  "red",
  "green",
  "blue",
  "yellow",
  "orange",
  "purple",
  "brown",
  "black",
  "white",
  "grey",
  "pink",
];

/** The colour that a level names; the accent of the page otherwise. */
export function colourOf(card: EpisodeCard): string {
  const words = Object.values(card.levels)
    .join(" ")
    .toLowerCase()
    .split(/[^a-z]+/);
  return words.find((word) => colours.includes(word)) ?? "var(--accent)";
}

/** "30 cm ahead, 10 cm left, turned by 12°", as somebody with a ruler reads it. */
export function placeText(card: EpisodeCard): string {
  if (!card.asked) return "";
  const [x, y] = card.asked.object_xyz;
  const side = Math.round(100 * Math.abs(y));
  const turn = Math.round((180 / Math.PI) * card.asked.object_yaw_rad);
  const parts = [
    `${Math.round(100 * x)} cm ahead`,
    side === 0 ? "in the middle" : `${side} cm ${y > 0 ? "left" : "right"}`,
    ...(turn ? [`turned ${Math.abs(turn)}° ${turn > 0 ? "left" : "right"}`] : []),
  ];
  return parts.join(", ");
}

/** Levels that are not shown otherwise: who demonstrates knows that, the place is drawn. */
export function levelsOf(card: EpisodeCard): [string, string][] {
  return Object.entries(card.levels).filter(
    ([name, level]) => name !== "operator" && level !== card.place,
  );
}
