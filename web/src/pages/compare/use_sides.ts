import { useEffect, useMemo, useState } from "react";
import type { EpisodeDetail } from "../../api/schema";
import { keepInAddress } from "../../parts/router";
import type { Clock } from "../../player/clock";
import { CommonClock } from "./common_clock";
import { type Moments, SAME } from "./following_clock";
import { LETTERS, type Letter, type Side } from "./sides";

const REST_MS = 300;

/** Episodes on one clock; `moments` (of all, the first the same) come when they are known. */
export function useSides(
  episodes: readonly EpisodeDetail[],
  moments: readonly Moments[] | null,
  address: URL,
): { sides: Side[]; clock: Clock } {
  const ids = episodes.map(({ id }) => id).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the address only says where the clock begins
  const common = useMemo(() => new CommonClock(episodes, askedTime(address)), [ids]);
  const [clock, setClock] = useState(common.shared);
  useEffect(() => {
    setClock(moments ? common.align(moments) : common.shared);
  }, [common, moments]);
  useEffect(() => () => common.close(), [common]);
  useEffect(() => keepMoment(clock), [clock]);
  const sides = useMemo(
    () =>
      episodes.map((episode, place) => ({
        letter: LETTERS[place] as Letter,
        episode,
        clock: common.own[place] as Side["clock"],
        moments: moments?.[place] ?? SAME,
      })),
    [episodes, common, moments],
  );
  return { sides, clock };
}

function askedTime(address: URL): number | null {
  const said = Number(address.searchParams.get("t") || Number.NaN);
  return Number.isFinite(said) ? Math.round(said) : null;
}

/** Keep the moment in the address while paused: a link shows all where they are. */
function keepMoment(clock: Clock): () => void {
  let later = 0;
  const first = clock.timeNs;
  const stop = clock.subscribe((timeNs) => {
    clearTimeout(later);
    if (clock.isPlaying || timeNs === first) return;
    later = window.setTimeout(() => keepInAddress({ t: String(timeNs) }), REST_MS);
  });
  return () => {
    clearTimeout(later);
    stop();
  };
}
