// What the first page surely needs, asked for while the browser still reads the rest of the script.

import { episodeKey, fetchEpisode } from "./api/episode";
import { fetchPackets, packetsKey } from "./api/movie";
import { fetchOverview, overviewKey } from "./api/overview";
import { prefetch } from "./api/prefetch";
import type { EpisodeDetail } from "./api/schema";
import { fetchSession, sessionKey } from "./api/session";
import { loadPage } from "./page_parts";

function startEpisode(id: string): void {
  // Before the scripts: a browser asks for six things at a time. The page shows what goes wrong.
  prefetch(episodeKey(id), () => fetchEpisode(id)).then(startCameras, () => undefined);
}

function startCameras({ id, streams }: EpisodeDetail): void {
  for (const { path, kind, samples } of streams) {
    if (kind === "video" && samples > 0)
      void prefetch(packetsKey(id, path), () => fetchPackets(id, path)).catch(() => undefined);
  }
}

/** From a list people go to an episode: its page comes while they look. */
function preparePage(): void {
  import("./pages/episode/episode_page").catch(() => undefined);
}

/** The episode that an address names; null where it names none. */
function episodeIn(pathname: string): string | null {
  const id = /^\/episodes\/([^/]+)$/.exec(pathname)?.[1];
  try {
    return id ? decodeURIComponent(id) : null;
  } catch {
    // No name of anything; the page says so.
    return null;
  }
}

const { pathname, search } = window.location;
const id = episodeIn(pathname);
void prefetch(sessionKey, fetchSession).catch(() => undefined);
if (id) startEpisode(id);
if (pathname === "/" && !search) void prefetch(overviewKey, fetchOverview).catch(() => undefined);
void loadPage(pathname);
if (pathname === "/" || pathname === "/episodes")
  window.addEventListener("load", () => setTimeout(preparePage, 1500), { once: true });
