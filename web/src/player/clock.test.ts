import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Clock, clockText, frameAt } from "./clock";

let now = 0;
let waiting: (() => void) | null = null;

/** Let the screen draw once more, so many milliseconds later. */
function draw(ms: number): void {
  now += ms;
  const run = waiting;
  waiting = null;
  run?.();
}

beforeEach(() => {
  now = 1000;
  waiting = null;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => {
    waiting = run;
    return 1;
  });
  vi.stubGlobal("cancelAnimationFrame", () => {
    waiting = null;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

describe("the frame at a time", () => {
  it("is the last that is not after it", () => {
    const stamps = [10, 20, 20, 35];
    expect([9, 10, 19, 20, 34, 35, 1e12].map((time) => frameAt(stamps, time))).toEqual([
      -1, 0, 0, 2, 2, 3, 3,
    ]);
    expect(frameAt([], 5)).toBe(-1);
  });
  it("is found among stamps at random", () => {
    const stamps = Array.from({ length: 400 }, () => Math.floor(Math.random() * 1e6)).sort(
      (a, b) => a - b,
    );
    for (let time = -10; time < 1e6; time += 997) {
      expect(frameAt(stamps, time)).toBe(stamps.filter((stamp) => stamp <= time).length - 1);
    }
  });
});

describe("the clock", () => {
  it("plays at its rate, in whole nanoseconds, and stops at the end", () => {
    const clock = new Clock(0, 1e9);
    clock.setRate(2);
    clock.play();
    draw(100);
    expect(clock.timeNs).toBe(2e8);
    clock.setRate(0.25);
    draw(100);
    expect(clock.timeNs).toBe(2.25e8);
    clock.setRate(4);
    draw(250);
    expect(clock.timeNs).toBe(1e9);
    expect(clock.isPlaying).toBe(false);
    clock.play();
    expect(clock.timeNs).toBe(0);
  });

  it("does not run on where nobody sees it", () => {
    const clock = new Clock(0, 60e9);
    clock.play();
    draw(20);
    draw(30_000);
    expect(clock.timeNs).toBe(2e7);
    draw(20);
    expect(clock.timeNs).toBe(4e7);
  });

  it("steps by frames and stays at the ends", () => {
    const clock = new Clock(0, 100);
    clock.setSteps([10, 20, 30]);
    clock.step(-1);
    expect(clock.timeNs).toBe(0);
    const visited = [1, 1, -1, 5, 1].map((count) => {
      clock.step(count);
      return clock.timeNs;
    });
    expect(visited).toEqual([10, 20, 10, 30, 30]);
    clock.seek(90);
    clock.step(1);
    expect(clock.timeNs).toBe(90);
    clock.step(-1);
    expect(clock.timeNs).toBe(20);
  });

  it("pauses when it steps", () => {
    const clock = new Clock(0, 1e9);
    clock.setSteps([0, 1e8, 2e8]);
    clock.play();
    draw(10);
    clock.step(1);
    expect([clock.isPlaying, clock.timeNs]).toEqual([false, 1e8]);
  });

  it("plays a loop over and over", () => {
    const clock = new Clock(0, 10e9);
    clock.setLoop({ startNs: 1e9, endNs: 1.2e9 });
    clock.play();
    expect(clock.timeNs).toBe(1e9);
    draw(100);
    draw(150);
    expect([clock.timeNs, clock.isPlaying]).toEqual([1e9, true]);
    clock.setLoop({ startNs: 5, endNs: 5 });
    expect(clock.loop).toBeNull();
  });

  it("never leaves the episode, whatever it is told", () => {
    const clock = new Clock(-50, 100, 1e15);
    expect(clock.timeNs).toBe(100);
    clock.seek(-1e15);
    expect(clock.timeNs).toBe(-50);
    clock.seek(3.7);
    expect(clock.timeNs).toBe(4);
  });

  it("waits for late pictures where it is asked to, and not for ever", () => {
    const clock = new Clock(0, 60e9);
    let behind = 3e8;
    const gone = clock.addPicture(() => behind);
    clock.play();
    draw(100);
    expect(clock.timeNs).toBe(1e8);
    clock.waitsForPictures = true;
    draw(100);
    draw(100);
    expect([clock.timeNs, clock.isPlaying, clock.behindNs]).toEqual([1e8, true, 3e8]);
    behind = 1e8;
    draw(100);
    expect(clock.timeNs).toBe(2e8);
    clock.setRate(4);
    draw(250);
    expect(clock.timeNs, "no more than a picture stands for").toBe(4e8);
    clock.seek(2e8);
    clock.setRate(1);
    behind = Number.POSITIVE_INFINITY;
    for (let ms = 0; ms < 10_000; ms += 500) draw(500);
    expect(clock.timeNs).toBe(2e8);
    draw(500);
    draw(100);
    expect(clock.timeNs).toBeGreaterThan(2e8);
    gone();
    expect(clock.behindNs).toBe(0);
  });

  it("obeys a listener that pauses it", () => {
    const clock = new Clock(0, 10e9);
    clock.play();
    clock.subscribe((time) => {
      if (time > 0) clock.pause();
    });
    draw(16);
    draw(16);
    expect([clock.isPlaying, clock.timeNs]).toEqual([false, 16e6]);
  });
});

describe("the time as text", () => {
  it("reads like a clock", () => {
    expect(clockText(12_345_999_999)).toBe("12.345 s");
    expect(clockText(-1_200_000_000, 1)).toBe("-1.2 s");
    expect(clockText(3_725_000_000_000, 0)).toBe("3725 s");
  });
});
