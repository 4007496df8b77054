import { expect, test } from "vitest";
import { colourOf, levelsOf, placeText, shapeOf, viewOf } from "./card_words";
import type { EpisodeCard } from "./floor_state";

const card: EpisodeCard = {
  id: "k1",
  campaign: "autumn",
  number: 3,
  planned: 24,
  levels: { object: "red cup", pose: "near", lighting: "lamp", operator: "ann" },
  instruction: "Put the red cup into the tray.",
  prohibited: [],
  changes: [],
  asked: { object_xyz: [0.3, -0.104, 0.8], object_yaw_rad: 0.2 },
  values: {},
  places: [
    { level: "near", x_m: 0.3, y_m: -0.1, radius_m: 0.03 },
    { level: "far", x_m: 0.5, y_m: 0.2, radius_m: 0.03 },
  ],
  place: "near",
};

test("the place is told as with a ruler, from the robot", () => {
  expect(placeText(card)).toBe("30 cm ahead, 10 cm right, turned 11° left");
  expect(placeText({ ...card, asked: { object_xyz: [0.3, 0, 0], object_yaw_rad: 0 } })).toBe(
    "30 cm ahead, in the middle",
  );
  expect(placeText({ ...card, asked: null })).toBe("");
});

test("the object is drawn as the levels name it", () => {
  expect([shapeOf(card), colourOf(card)]).toEqual(["round", "red"]);
  const other = { ...card, levels: { object: "thing" } };
  expect([shapeOf(other), colourOf(other)]).toEqual(["box", "var(--accent)"]);
});

test("the view holds every place and the object", () => {
  const view = viewOf(card);
  expect(view.near).toBeLessThan(0.27);
  expect(view.far).toBeGreaterThan(0.53);
  expect(view.left).toBeGreaterThan(0.23);
  expect(view.right).toBeLessThan(-0.13);
});

test("the levels beside the picture leave out the place and who demonstrates", () => {
  expect(levelsOf(card)).toEqual([
    ["object", "red cup"],
    ["lighting", "lamp"],
  ]);
});
