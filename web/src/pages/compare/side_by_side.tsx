import { lazy, Suspense, useCallback, useMemo, useState } from "react";
import { ALIGNMENTS, type Alignment, getComparison } from "../../api/comparison";
import type { EpisodeDetail } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { Link } from "../../parts/link";
import { Notice, Waiting } from "../../parts/notice";
import { keepInAddress } from "../../parts/router";
import { useShortcuts } from "../../parts/shortcuts";
import { Cameras } from "../../player/cameras";
import { Transport } from "../../player/transport";
import { AlignmentChoice } from "./alignment_choice";
import { Differences } from "./differences";
import { FirstDifferenceFinder } from "./first_difference";
import { SAME } from "./following_clock";
import { LanesOfSides } from "./lanes_of_sides";
import { Overlay } from "./overlay";
import "./side_by_side.css";
import { SideHead } from "./side_head";
import type { Side } from "./sides";
import { useSides } from "./use_sides";

const Scene = lazy(() => import("../../scene/scene"));
const OverlaidScene = lazy(() => import("./overlaid_scene"));

const VIEWS = {
  cameras: "Cameras",
  robot: "3-D",
  both: "Cameras + 3-D",
  one: "One scene",
} as const;
type View = keyof typeof VIEWS;

export interface SideBySideProps {
  a: EpisodeDetail;
  b: EpisodeDetail;
  address: URL;
}

/** Two episodes on one clock: pictures beside each other, signals over each other. */
export function SideBySide({ a, b, address }: SideBySideProps) {
  const said = address.searchParams.get("align");
  const align: Alignment = ALIGNMENTS.find((each) => each === said) ?? "time";
  const matched = useMemo(() => inOrderOf(b, a), [a, b]);
  const answer = useAnswer(
    (signal) => getComparison(a.id, b.id, align, signal),
    [a.id, b.id, align],
  );
  const moments = useMemo(() => answer.value && [SAME, answer.value], [answer.value]);
  const episodes = useMemo(() => [a, matched], [a, matched]);
  const { sides, clock } = useSides(episodes, moments, address);
  const [first, second] = sides as [Side, Side];
  const view = Object.keys(VIEWS).includes(address.searchParams.get("show") ?? "")
    ? (address.searchParams.get("show") as View)
    : "cameras";
  const [mark, setMark] = useState<number | null>(null);
  const onFound = useCallback(
    (timeNs: number | null) => {
      setMark(timeNs);
      if (timeNs === null) return;
      clock.pause();
      clock.seek(timeNs);
    },
    [clock],
  );
  const look = (next: View) => keepInAddress({ show: next });
  const names = Object.keys(VIEWS) as View[];
  useShortcuts("Compare", [
    {
      keys: ["w"],
      does: "Cameras, 3-D, both, or both robots in one scene",
      run: () => look(names[(names.indexOf(view) + 1) % names.length] as View),
    },
  ]);
  return (
    <div className="pair" data-view={view}>
      <header className="pair-head">
        <Link href="/episodes">‹ Episodes</Link>
        <h1>Compare</h1>
        <AlignmentChoice
          used={answer.value?.align ?? align}
          ways={answer.value?.ways ?? []}
          onChange={(next) => keepInAddress({ align: next })}
        />
        <fieldset className="align">
          <legend>Show</legend>
          {names.map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={view === each}
              title={`${VIEWS[each]} (w: the next)`}
              onClick={() => look(each)}
            >
              {VIEWS[each]}
            </button>
          ))}
        </fieldset>
        <FirstDifferenceFinder a={a.id} b={b.id} align={align} onFound={onFound} />
      </header>
      {sides.map((side) => (
        <section
          key={side.letter}
          className={`pair-side pair-side-${side.letter.toLowerCase()}`}
          aria-label={`Episode ${side.letter}`}
        >
          <SideHead side={side} clock={clock} other={side === first ? b.id : a.id} />
          {view !== "one" && (
            <div className="pair-views">
              {view !== "robot" && (
                <Cameras
                  episode={side.episode}
                  clock={side.clock}
                  setsSteps={side.letter === "A"}
                />
              )}
              {view !== "cameras" && (
                <Suspense fallback={<Waiting what="Loading the robot" />}>
                  <Scene episode={side.episode} clock={side.clock} />
                </Suspense>
              )}
            </div>
          )}
        </section>
      ))}
      {view === "one" && (
        <div className="pair-one">
          <Suspense fallback={<Waiting what="Loading the robots" />}>
            <OverlaidScene a={first} b={second} />
          </Suspense>
        </div>
      )}
      <section className="pair-signals" aria-label="Signals of both">
        {answer.value && <Overlay sides={sides} clock={clock} />}
      </section>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it */}
      <section className="pair-differences" aria-label="Differences" tabIndex={0}>
        {answer.error && <Notice error={answer.error} again={answer.again} />}
        {answer.value && <Differences a={a} b={b} comparison={answer.value} />}
      </section>
      <footer className="pair-foot">
        <LanesOfSides sides={sides} clock={clock} mark={mark} />
        <Transport episode={a} clock={clock} />
      </footer>
    </div>
  );
}

/** The streams of one episode in the order of another, so that the same camera is at the same place. */
function inOrderOf(episode: EpisodeDetail, model: EpisodeDetail): EpisodeDetail {
  const place = new Map(model.streams.map(({ path }, number) => [path, number]));
  const streams = [...episode.streams].sort(
    (x, y) => (place.get(x.path) ?? 1e6) - (place.get(y.path) ?? 1e6),
  );
  return { ...episode, streams };
}
