import { expect, test } from "vitest";
import type { CampaignFacts, CampaignLevel } from "../../api/schema";
import { shareOf, standingOf, successText, unknownText } from "./campaign_words";

const level: CampaignLevel = {
  level: "cup",
  accepted: 4,
  planned: 8,
  rejected: 1,
  unchecked: 0,
  successes: 4,
  tried: 5,
  low: 0.3755,
  high: 0.9638,
};

test("success is told with its bounds, and not where nobody tried", () => {
  expect(successText(level)).toBe("4 of 5 (38 to 96 %)");
  expect(successText({ ...level, tried: 0, low: null, high: null })).toBe("");
});

test("a level is held against where the campaign is, not against its end", () => {
  expect(standingOf(level, 0.5)).toBe("even");
  expect(standingOf(level, 0.9)).toBe("behind");
  expect(standingOf({ ...level, accepted: 0 }, 0.5)).toBe("none");
  expect(standingOf({ ...level, accepted: 8 }, 0.5)).toBe("full");
});

test("pairs that were never seen are counted", () => {
  const line = { accepted: 6, episodes: 24 };
  const facts = { line, pairs: 16, pairs_missing: 3 } as CampaignFacts;
  expect(unknownText(facts)).toBe("13 of 16 pairs of levels were seen; 3 pairs not yet.");
  expect(unknownText({ ...facts, pairs_missing: 0 })).toBe("All 16 pairs of levels were seen.");
  expect(shareOf(facts)).toBe(0.25);
});
