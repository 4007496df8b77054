import { expect, test } from "vitest";
import { CommonClock, commonSpan } from "./common_clock";
import { SAME } from "./following_clock";

const a = { start_ns: -100, end_ns: 500 };
const b = { start_ns: 0, end_ns: 2000 };

test("the common clock begins with the first of them and ends with the last", () => {
  expect(commonSpan([a, b].map((span) => ({ span, moments: SAME })))).toEqual([-100, 2000]);
  const common = new CommonClock([a, b], null);
  common.shared.seek(1500);
  expect(common.own.map((clock) => clock.timeNs)).toEqual([500, 1500]);
});

test("another alignment makes another span, and whoever watches a clock goes on watching", () => {
  const common = new CommonClock([a, b], 100);
  let told = 0;
  common.own[1]?.subscribeState(() => {
    told += 1;
  });
  const before = common.shared;
  const after = common.align([SAME, { time_a: [0, 500], time_b: [0, 1000] }]);
  expect([after.startNs, after.endNs, after.timeNs]).toEqual([-100, 1500, 100]);
  expect(after).not.toBe(before);
  expect(common.own[1]?.timeNs).toBe(200);
  const heard = told;
  after.setRate(2);
  expect(told).toBe(heard + 1);
  common.own[1]?.seek(1000);
  expect(after.timeNs).toBe(500);
});

test("the frames of the first episode are the steps of the common clock", () => {
  const common = new CommonClock([a, b], 0);
  common.own[0]?.setSteps([0, 40, 80], "head");
  common.align([SAME, { time_a: [0], time_b: [300] }]);
  common.shared.step(1);
  expect(common.shared.timeNs).toBe(40);
  expect(common.shared.stepName).toBe("head");
});
