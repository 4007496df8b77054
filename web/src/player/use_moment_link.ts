import { useEffect, useRef } from "react";
import { keepInAddress, useAddress } from "../parts/router";
import type { Clock } from "./clock";

const restMs = 250;

/** Whether the page is that of this episode, whose address may hold a moment. */
export function isAt(address: URL, id: string): boolean {
  return address.pathname === `/episodes/${encodeURIComponent(id)}`;
}

/** The address of what is seen now, to the nanosecond; of the episode itself where a page has no moment. */
export function momentLink(id: string, clock: Clock): string {
  const here = new URL(window.location.href);
  const hasMoment = isAt(here, id) || here.pathname === "/compare";
  const url = hasMoment ? here : new URL(`/episodes/${encodeURIComponent(id)}`, here);
  url.searchParams.set("t", String(clock.timeNs));
  return url.href;
}

/** Keep the moment in the page's address while paused, and go where a link within the page leads. */
export function useMomentLink(id: string, clock: Clock): void {
  const address = useAddress();
  const kept = useRef<string | null>(null);
  const isHere = isAt(address, id);
  const asked = address.searchParams.get("t");
  useEffect(() => {
    if (!isHere || asked === null || asked === kept.current) return;
    const moment = Number(asked);
    if (asked.trim() && Number.isFinite(moment) && Math.round(moment) !== clock.timeNs) {
      clock.pause();
      clock.seek(moment);
    }
    kept.current = asked;
  }, [isHere, asked, clock]);
  useEffect(() => {
    if (!isHere) return;
    let later = 0;
    const keep = () => {
      clearTimeout(later);
      if (clock.isPlaying) return;
      later = window.setTimeout(() => {
        // Nothing to keep before anybody has moved.
        if (kept.current === null && clock.timeNs === first) return;
        kept.current = String(clock.timeNs);
        keepInAddress({ t: kept.current });
      }, restMs);
    };
    const first = clock.timeNs;
    const stops = [clock.subscribe(keep), clock.subscribeState(keep)];
    return () => {
      clearTimeout(later);
      for (const stop of stops) stop();
    };
  }, [isHere, clock]);
}
