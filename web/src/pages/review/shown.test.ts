// @vitest-environment happy-dom
import { expect, test, vi } from "vitest";
import { Clock } from "../../player/clock";
import { Shown, watchShown } from "./shown";

const S = 1e9;

test("what passes in time is shown, once however often it passes", () => {
  const shown = new Shown(0, S);
  for (const time of [0, 0.1, 0.2, 0.3, 0.1, 0.2, 0.3]) shown.see(time * S);
  expect(shown.share).toBeCloseTo(0.3);
  expect(shown.spans).toHaveLength(1);
});

test("a jump shows no more than the picture it ends at", () => {
  const shown = new Shown(0, 10 * S);
  shown.see(0);
  shown.see(9 * S);
  expect(shown.share).toBeCloseTo(0.02);
  expect(shown.spans).toEqual([{ startNs: 8.8 * S, endNs: 9 * S }]);
});

test("a time counts once its picture is drawn, however late; without one it does not", () => {
  vi.useFakeTimers();
  const clock = new Clock(0, S);
  let drawn = 0;
  clock.addPicture((timeNs) => Math.abs(timeNs - drawn));
  const { shown, stop } = watchShown(clock, 0);
  clock.seek(0.2 * S);
  clock.seek(0.4 * S);
  drawn = 0.4 * S;
  clock.seek(0.6 * S);
  expect(shown.share).toBeCloseTo(0.4);
  clock.seek(0.8 * S);
  clock.seek(S);
  vi.advanceTimersByTime(500);
  expect(shown.share, "nothing was drawn since").toBeCloseTo(0.6);
  drawn = S;
  vi.advanceTimersByTime(500);
  expect(shown.share, "the last picture, and what it stands for").toBeCloseTo(0.8);
  stop();
  vi.useRealTimers();
});

test("nothing is seen in a window that is hidden", () => {
  vi.spyOn(document, "hidden", "get").mockReturnValue(true);
  const clock = new Clock(0, S);
  const { shown, stop } = watchShown(clock, 0);
  for (let time = 0; time <= S; time += S / 10) clock.seek(time);
  expect(shown.share).toBe(0);
  vi.restoreAllMocks();
  for (let time = 0; time <= S; time += S / 10) clock.seek(time);
  stop();
  expect(shown.share).toBeGreaterThan(0.8);
});
