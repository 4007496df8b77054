// The coverage of a campaign in words.
import type { CampaignFacts, CampaignLevel } from "../../api/schema";
import { count } from "../../parts/words";

/** "7 of 8 (53 to 98 %)"; nothing where no episode says how it went. */
export function successText({ successes, tried, low, high }: CampaignLevel): string {
  if (low === null || high === null || !tried) return "";
  const percent = (share: number) => Math.round(100 * share);
  return `${successes} of ${tried} (${percent(low)} to ${percent(high)} %)`;
}

export type Standing = "none" | "behind" | "even" | "full";

/** How a level stands: empty, behind where the campaign is, in step with it, or complete. */
export function standingOf(level: CampaignLevel, share: number): Standing {
  if (level.accepted >= level.planned - 0.5) return "full";
  if (level.accepted === 0) return "none";
  return level.accepted < level.planned * share - 1 ? "behind" : "even";
}

/** What is still unknown, in one sentence. */
export function unknownText({ pairs, pairs_missing }: CampaignFacts): string {
  if (!pairs_missing) return `All ${pairs} pairs of levels were seen.`;
  const seen = pairs - pairs_missing;
  return `${seen} of ${pairs} pairs of levels were seen; ${count(pairs_missing, "pair")} not yet.`;
}

/** The share of the plan that is accepted, 0 to 1. */
export function shareOf({ line }: CampaignFacts): number {
  return Math.min(1, line.accepted / Math.max(1, line.episodes));
}
