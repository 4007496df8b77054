// The parts of Studio's page: each is fetched when it is first opened; the list comes with the frame.
import { type ComponentType, lazy } from "react";
import { Browse } from "./pages/browse/browse";

type PageComponent = ComponentType<{ address: URL }>;
type Load = () => Promise<{ default: PageComponent }>;

interface PagePart {
  path: RegExp;
  load: () => Promise<void>;
  component: () => PageComponent;
}

const parts: PagePart[] = [
  part(/^\/$/, () => import("./pages/start/start")),
  { path: /^\/episodes$/, load: () => Promise.resolve(), component: () => Browse },
  // An episode is known by its number wherever its id does.
  part(/^\/(e\/[^/]+|episodes\/(%23|#)?[0-9]{1,9})$/, () => import("./parts/episode_name")),
  part(/^\/episodes\/[^/]+$/, () => import("./pages/episode/episode_page")),
  part(/^\/compare$/, () => import("./pages/compare/compare_page")),
  part(/^\/dashboards/, () => import("./pages/dashboards/dashboards")),
  part(/^\/live/, () => import("./pages/live/live")),
  part(/^\/board$/, () => import("./pages/board/board")),
  part(/^\/guide$/, () => import("./pages/guide/guide")),
  part(/^\/calibrations$/, () => import("./pages/calibrations/calibrations")),
  part(/^\/campaigns(\/[^/]+)?$/, () => import("./pages/campaigns/campaigns")),
  part(/^\/operators$/, () => import("./pages/operators/operators")),
  part(/^\/floor$/, () => import("./pages/floor/floor")),
  part(/^\/accounts$/, () => import("./pages/accounts/accounts")),
  part(/^\/labels/, () => import("./pages/labels/labels")),
  part(/^\/review/, () => import("./pages/review/review")),
  part(/^\/releases/, () => import("./pages/releases/releases")),
  part(/^\/annotate\/[^/]+$/, () => import("./pages/annotate/annotate_page")),
];

/** The page of a path; null where there is none. */
export function pageAt(pathname: string): PageComponent | null {
  return partAt(pathname)?.component() ?? null;
}

/** Fetch the page of a path; one that cannot be had says so where it is shown. */
export function loadPage(pathname: string): Promise<void> {
  return (partAt(pathname)?.load() ?? Promise.resolve()).catch(() => undefined);
}

function partAt(pathname: string): PagePart | undefined {
  return parts.find(({ path }) => path.test(pathname));
}

/**
 * What is here already is shown at once: React keeps a "waiting" for 300 ms once it has shown it.
 * What was given first stays, or the page would be made anew and forget what people did on it.
 */
function part(path: RegExp, fetch: Load): PagePart {
  let here: PageComponent | null = null;
  let given: PageComponent | null = null;
  const later = lazy(fetch);
  return {
    path,
    load: async () => {
      here = (await fetch()).default;
    },
    component: () => {
      given ??= here ?? later;
      return given;
    },
  };
}
