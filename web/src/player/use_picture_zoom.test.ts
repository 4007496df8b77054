import { expect, test } from "vitest";
import { held, zoomed } from "./use_picture_zoom";

const box = { width: 400, height: 300 };
const whole = { scale: 1, x: 0, y: 0 };

test("what is under the pointer stays there", () => {
  const at = { x: 100, y: -50 };
  const look = zoomed(whole, 4, at, box);
  // The place of the picture that was at `at`, in the picture's own pixels.
  const place = { x: (at.x - look.x) / look.scale, y: (at.y - look.y) / look.scale };
  expect(place.x).toBeCloseTo(100, 6);
  expect(place.y).toBeCloseTo(-50, 6);
});

test("the picture is never smaller than its box, nor pulled out of it", () => {
  expect(zoomed({ scale: 2, x: 150, y: 0 }, 0.1, { x: 0, y: 0 }, box)).toEqual(whole);
  expect(held({ scale: 2, x: 900, y: -900 }, box)).toEqual({ scale: 2, x: 200, y: -150 });
});
