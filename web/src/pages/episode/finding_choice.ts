// One finding is chosen at a time; timeline, plots and panel all hear of it.
import { useEffect } from "react";
import type { EpisodeFinding } from "../../api/schema";
import type { Clock } from "../../player/clock";
import { FINDING_EVENT, useSelectedFinding } from "../../plots/selection";

export { selectFinding } from "../../plots/selection";

/** The number of the chosen finding; choosing one takes the clock to where it begins. */
export function useChosenFinding(findings: EpisodeFinding[], clock: Clock): number | null {
  useEffect(() => {
    const listen = (event: Event) => {
      const number = (event as CustomEvent<unknown>).detail;
      const first = findings.find((each) => each.number === number)?.spans[0];
      if (!first) return;
      clock.pause();
      clock.seek(first.start_ns);
    };
    window.addEventListener(FINDING_EVENT, listen);
    return () => window.removeEventListener(FINDING_EVENT, listen);
  }, [findings, clock]);
  return useSelectedFinding();
}
