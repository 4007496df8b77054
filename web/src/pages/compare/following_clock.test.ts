import { expect, test } from "vitest";
import { Clock } from "../../player/clock";
import { FollowingClock } from "./following_clock";

test("the second clock shows what belongs to the first, inside its own episode", () => {
  const leader = new Clock(0, 1000);
  const follower = new FollowingClock(leader, 0, 600);
  follower.align({ time_a: [0, 1000], time_b: [100, 500] });
  leader.seek(500);
  expect(follower.timeNs).toBe(300);
  follower.align({ time_a: [0], time_b: [400] });
  expect(follower.timeNs).toBe(600);
});

test("a seek in the second moves the first", () => {
  const leader = new Clock(0, 1000);
  const follower = new FollowingClock(leader, 0, 600);
  follower.align({ time_a: [0, 1000], time_b: [0, 500] });
  follower.seek(250);
  expect(leader.timeNs).toBe(500);
  follower.close();
  leader.seek(0);
  expect(follower.timeNs).toBe(250);
});
