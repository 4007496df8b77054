// Releases: what people train on.
import { getJson, sendJson } from "./client";
import type {
  NewRelease,
  ReleaseChanges,
  ReleaseFacts,
  ReleasePage,
  ReleasePreview,
  VerifiedRelease,
} from "./schema";

export function getReleases(signal?: AbortSignal): Promise<ReleaseFacts[]> {
  return getJson("/releases", {}, signal);
}

export function getRelease(reference: string, signal?: AbortSignal): Promise<ReleasePage> {
  return getJson(`/releases/${encodeURIComponent(reference)}`, {}, signal);
}

export function previewRelease(wish: NewRelease): Promise<ReleasePreview> {
  return sendJson("POST", "/releases/preview", wish);
}

export function makeRelease(wish: NewRelease): Promise<ReleaseFacts> {
  return sendJson("POST", "/releases", wish);
}

export function getDifference(
  reference: string,
  since: string,
  signal?: AbortSignal,
): Promise<ReleaseChanges> {
  return getJson(`/releases/${encodeURIComponent(reference)}/difference`, { since }, signal);
}

export function verifyRelease(reference: string): Promise<VerifiedRelease> {
  return sendJson("POST", `/releases/${encodeURIComponent(reference)}/verification`);
}

export function releasePath(reference: string): string {
  return `/releases/${encodeURIComponent(reference)}`;
}
