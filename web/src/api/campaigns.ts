// Campaigns: their coverage, and the cards that stations have.
import { getJson } from "./client";
import type { CampaignFacts, CampaignLine } from "./schema";

export function getCampaigns(signal?: AbortSignal): Promise<CampaignLine[]> {
  return getJson("/campaigns", {}, signal);
}

export function getCampaign(name: string, signal?: AbortSignal): Promise<CampaignFacts> {
  return getJson(`/campaigns/${encodeURIComponent(name)}`, {}, signal);
}
