import { expect, test } from "vitest";
import { GAP, packFlow, packPictures } from "./camera_grid";

const five = Array(5).fill(4 / 3) as number[];

test("five pictures lie in rows of two and three, with nothing empty between them", () => {
  const { places, width, height } = packPictures(five, { width: 800, height: 400 });
  expect(new Set(places.map(({ top }) => top)).size).toBe(2);
  expect(Math.abs(height - 400)).toBeLessThan(3);
  for (const row of [0, 1].map((place) => [...new Set(places.map(({ top }) => top))][place])) {
    const own = places.filter(({ top }) => top === row);
    const filled = own.reduce((sum, each) => sum + each.width, (own.length - 1) * GAP);
    expect(filled).toBeCloseTo(width, 6);
  }
});

test("every picture keeps its shape, also beside one of another", () => {
  const aspects = [1, 16 / 9, 4 / 3];
  for (const room of [
    { width: 300, height: 900 },
    { width: 1200, height: 200 },
  ]) {
    const { places, width, height } = packPictures(aspects, room);
    places.forEach((place, number) => {
      expect(place.width / place.height).toBeCloseTo(aspects[number] as number, 6);
    });
    expect(width).toBeLessThanOrEqual(room.width);
    expect(height).toBeLessThanOrEqual(room.height + 2 * GAP);
  }
});

test("without a camera, or with very many, there is an answer", () => {
  expect(packPictures([], { width: 100, height: 100 }).places).toEqual([]);
  expect(packPictures(Array(40).fill(1), { width: 500, height: 300 }).places).toHaveLength(40);
});

test("on a phone an odd first picture is as wide as the page", () => {
  const { places } = packFlow(five, 390);
  expect(places[0]?.width).toBe(390);
  expect(places[1]?.top).toBe(places[2]?.top);
});
