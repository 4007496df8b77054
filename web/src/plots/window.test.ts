import { describe, expect, it } from "vitest";
import { dragOf } from "./gestures";
import { placeOf, timeAt, ViewWindow } from "./window";

describe("the window", () => {
  it("keeps the time below the pointer in its place when it zooms", () => {
    const view = new ViewWindow(0, 10e9);
    const before = placeOf(3e9, view.startNs, view.endNs, 1000);
    view.zoom(3e9, 0.25);
    expect(view.spanNs).toBe(2.5e9);
    expect(placeOf(3e9, view.startNs, view.endNs, 1000)).toBeCloseTo(before, 3);
  });

  it("never leaves the episode nor shrinks to nothing", () => {
    const view = new ViewWindow(-1e9, 4e9);
    view.set(-9e9, 99e9);
    expect([view.startNs, view.endNs]).toEqual([-1e9, 4e9]);
    view.zoom(0, 1e-12);
    expect(view.spanNs).toBe(1e6);
    view.pan(1e12);
    expect(view.endNs).toBe(4e9);
    view.pan(-1e12);
    expect(view.startNs).toBe(-1e9);
  });

  it("holds whole nanoseconds, also for an episode of one sample", () => {
    const view = new ViewWindow(7, 7);
    expect(view.spanNs).toBeGreaterThan(0);
    const other = new ViewWindow(0, 1e10);
    other.zoom(1 / 3, 0.3);
    expect(Number.isInteger(other.startNs) && Number.isInteger(other.endNs)).toBe(true);
  });

  it("turns the page when the clock plays out of it, and jumps to a seek", () => {
    const view = new ViewWindow(0, 100e9);
    view.set(10e9, 20e9);
    view.follow(15e9, true);
    expect(view.startNs).toBe(10e9);
    view.follow(19.5e9, true);
    expect(view.startNs).toBeGreaterThan(15e9);
    expect(view.startNs).toBeLessThan(19.5e9);
    view.follow(80e9, false);
    expect((view.startNs + view.endNs) / 2).toBe(80e9);
  });

  it("does not follow while it shows everything", () => {
    const view = new ViewWindow(0, 10e9);
    view.follow(9.9e9, true);
    expect(view.isWhole).toBe(true);
  });

  it("tells its listeners of changes only", () => {
    const view = new ViewWindow(0, 10e9);
    let calls = 0;
    const stop = view.subscribe(() => calls++);
    view.reset();
    expect(calls).toBe(0);
    view.zoom(5e9, 0.5);
    expect(calls).toBe(1);
    stop();
    view.reset();
    expect(calls).toBe(1);
  });
});

it("goes from times to places and back", () => {
  expect(timeAt(placeOf(123_456, 0, 1e6, 640), 0, 1e6, 640)).toBe(123_456);
});

it("takes hold of the clock's line, and nothing else, near it", () => {
  expect(dragOf(100, 104, false, false)).toBe("scrub");
  expect(dragOf(100, 140, false, false)).toBe("seek");
  expect(dragOf(100, 140, false, true)).toBe("pan");
  expect(dragOf(100, 140, true, false)).toBe("scrub");
});
