import { useEffect } from "react";
import type { EpisodeDetail } from "../api/schema";
import { getStamps } from "../api/stamps";
import { useAnswer } from "../api/use_answer";
import type { Clock } from "./clock";
import { useReturn } from "./use_frames";

const fastestHz = 100;

/** The stream to step by where there is no camera: the fastest that a person can follow. */
export function stepStream({ streams }: Pick<EpisodeDetail, "streams">): string | null {
  const rates = streams
    .filter(({ kind, samples }) => kind === "array" && samples > 1)
    .map(({ path, samples, rate_hz, first_ns, last_ns }) => ({
      path,
      hz: rate_hz ?? ((samples - 1) * 1e9) / Math.max((last_ns ?? 0) - (first_ns ?? 0), 1),
    }))
    .filter(({ hz }) => hz <= fastestHz * 1.05)
    .sort((one, other) => other.hz - one.hz);
  return rates[0]?.path ?? null;
}

/** Have the clock step by the frames of the chosen camera. */
export function useSteps(
  episode: EpisodeDetail,
  clock: Clock,
  chosen: string | null,
  isOn: boolean,
): void {
  const path = chosen ?? stepStream(episode);
  const answer = useAnswer(
    (signal) => (path && isOn ? getStamps(episode.id, path, signal) : Promise.resolve(null)),
    [episode.id, path, isOn],
  );
  useReturn(answer.error, answer.again);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the path is that of the answer
  useEffect(() => {
    if (answer.value && path) clock.setSteps(answer.value, path);
  }, [answer.value, clock]);
}
