import { useState } from "react";
import type { EpisodeDetail } from "../../api/schema";
import { useKept } from "../../parts/use_kept";
import {
  added,
  type Layout,
  layoutText,
  panelsIn,
  readLayout,
  usualLayout,
  without,
} from "./layout";
import { hasCamera } from "./summary_strip";

/**
 * The layout of the page as it is kept, and as it is shown: without cameras where there are none,
 * and without the panel of what is known where that has nothing to say.
 */
export function useLayout(episode: EpisodeDetail, isNews: boolean) {
  const [kept, keep] = useKept<string>("studio.episode.layout", layoutText(usualLayout));
  const [asked, setAsked] = useState<boolean | null>(null);
  const layout = readLayout(kept) ?? usualLayout;
  const isKept = panelsIn(layout).includes("details");
  const isOpen = asked ?? (isKept && isNews);
  const setLayout = (next: Layout) => {
    keep(layoutText(next));
    const has = panelsIn(next).includes("details");
    // Whoever puts the panel there, or takes it away, sees at once that it was done.
    setAsked(has === isKept ? asked : has);
  };
  const open = isOpen ? added(layout, "details") : (without(layout, ["details"]) ?? layout);
  const shown = hasCamera(episode) ? open : (without(open, ["cameras"]) ?? open);
  // What is not shown now has no place in what was arranged: it comes back where it lies as a rule.
  const setShown = (next: Layout) => {
    let whole = next;
    for (const name of panelsIn(layout))
      if (!panelsIn(shown).includes(name)) whole = added(whole, name);
    keep(layoutText(whole));
  };
  const toggle = () => {
    // Closed where it has something to say, it stays closed on other pages as well.
    if (isNews && isOpen === isKept)
      setLayout(isOpen ? (without(layout, ["details"]) ?? layout) : added(layout, "details"));
    else setAsked(!isOpen);
  };
  return { layout, shown, isOpen, setLayout, setShown, toggle };
}
