import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { ALIGNMENTS, type Alignment, getComparison } from "../../api/comparison";
import type { EpisodeDetail } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { Link } from "../../parts/link";
import { Notice, Waiting } from "../../parts/notice";
import { keepInAddress } from "../../parts/router";
import { Cameras } from "../../player/cameras";
import { Clock } from "../../player/clock";
import { Timeline } from "../../player/timeline";
import { Transport } from "../../player/transport";
import { AlignmentChoice } from "./alignment_choice";
import { Differences } from "./differences";
import { FollowingClock } from "./following_clock";
import { Overlay } from "./overlay";
import "./side_by_side.css";
import { SideHead } from "./side_head";

const Scene = lazy(() => import("../../scene/scene"));

export interface SideBySideProps {
  a: EpisodeDetail;
  b: EpisodeDetail;
  address: URL;
}

/** Two episodes on one transport: pictures beside each other, signals over each other. */
export function SideBySide({ a, b, address }: SideBySideProps) {
  const said = address.searchParams.get("align");
  const align: Alignment = ALIGNMENTS.find((each) => each === said) ?? "time";
  // biome-ignore lint/correctness/useExhaustiveDependencies: the address only says where the clocks begin
  const [clock, other] = useMemo(() => clocksOf(a, b, address), [a, b]);
  const matched = useMemo(() => inOrderOf(b, a), [a, b]);
  const answer = useAnswer(
    (signal) => getComparison(a.id, b.id, align, signal),
    [a.id, b.id, align],
  );
  const [isRobot, setRobot] = useState(false);
  useEffect(() => keepMoment(clock), [clock]);
  useEffect(
    () => () => {
      other.close();
      clock.close();
    },
    [clock, other],
  );
  useEffect(() => {
    if (answer.value) other.align(answer.value);
  }, [answer.value, other]);
  const views = (episode: EpisodeDetail, own: Clock) =>
    isRobot ? (
      <Suspense fallback={<Waiting what="Loading the robot" />}>
        <Scene episode={episode} clock={own} />
      </Suspense>
    ) : (
      <Cameras episode={episode} clock={own} setsSteps={own === clock} />
    );
  return (
    <div className="pair">
      <header className="pair-head">
        <Link href="/">‹ Episodes</Link>
        <h1>Compare</h1>
        <AlignmentChoice
          used={answer.value?.align ?? align}
          ways={answer.value?.ways ?? []}
          onChange={(next) => keepInAddress({ align: next })}
        />
        <button type="button" aria-pressed={isRobot} onClick={() => setRobot(!isRobot)}>
          3-D
        </button>
      </header>
      <section className="pair-side" aria-label="Episode A">
        <SideHead letter="A" episode={a} other={b.id} />
        <div className="pair-views">{views(a, clock)}</div>
      </section>
      <section className="pair-side" aria-label="Episode B">
        <SideHead letter="B" episode={b} other={a.id} />
        <div className="pair-views">{views(matched, other)}</div>
      </section>
      <section className="pair-signals" aria-label="Signals of both">
        {answer.value && <Overlay a={a} b={b} clock={clock} moments={answer.value} />}
      </section>
      <section className="pair-differences" aria-label="Differences">
        {answer.error && <Notice error={answer.error} again={answer.again} />}
        {answer.value && <Differences comparison={answer.value} />}
      </section>
      <footer className="pair-foot">
        <Timeline episode={a} clock={clock} />
        <Transport episode={a} clock={clock} />
      </footer>
    </div>
  );
}

function clocksOf(a: EpisodeDetail, b: EpisodeDetail, address: URL): [Clock, FollowingClock] {
  const said = Number(address.searchParams.get("t") || Number.NaN);
  const begin = Math.max(a.start_ns, Math.min(0, a.end_ns));
  const clock = new Clock(a.start_ns, a.end_ns, Number.isFinite(said) ? Math.round(said) : begin);
  return [clock, new FollowingClock(clock, b.start_ns, b.end_ns)];
}

/** The streams of one episode in the order of another, so that the same camera is at the same place. */
function inOrderOf(episode: EpisodeDetail, model: EpisodeDetail): EpisodeDetail {
  const place = new Map(model.streams.map(({ path }, number) => [path, number]));
  const streams = [...episode.streams].sort(
    (x, y) => (place.get(x.path) ?? 1e6) - (place.get(y.path) ?? 1e6),
  );
  return { ...episode, streams };
}

const REST_MS = 300;

/** Keep the moment in the address while paused: a link shows both where they are. */
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
