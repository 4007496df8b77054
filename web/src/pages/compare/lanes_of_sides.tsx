import { useMemo, useRef, useState } from "react";
import { getEvents } from "../../api/annotation";
import type { EpisodeDetail, EventFacts } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { useShortcuts } from "../../parts/shortcuts";
import type { Clock } from "../../player/clock";
import "../../player/timeline.css";
import { TimelineAxis } from "../../player/timeline_axis";
import { TimelineDetected } from "../../player/timeline_detected";
import { TimelineFindings, TimelineThroughout } from "../../player/timeline_findings";
import { TimelineLane } from "../../player/timeline_lane";
import { TimelinePlayhead } from "../../player/timeline_playhead";
import {
  findingBars,
  moments as inOrder,
  neighbour,
  shareOf,
  wholeFindings,
} from "../../player/timeline_rows";
import { useScrub } from "../../player/timeline_scrub";
import { TimelineTip, type Tip } from "../../player/timeline_tip";
import { useInks } from "../../plots/inks";
import { windowOf } from "../../plots/window";
import "./lanes_of_sides.css";
import { mapTime } from "../../api/comparison";
import { inkOf, type Side } from "./sides";

const none: EventFacts[] = [];

/** All episodes on one line of time: where each begins and ends, what was found, what happened. */
export function LanesOfSides({
  sides,
  clock,
  mark,
  isBrief = false,
}: {
  sides: Side[];
  clock: Clock;
  /** Findings and detected events alone: of many episodes the rest would be too long. */
  isBrief?: boolean;
  /** The first moment at which they differ, where it is known. */
  mark: number | null;
}) {
  const view = windowOf(clock);
  const inks = useInks();
  const track = useRef<HTMLDivElement>(null);
  const [tip, setTip] = useState<Tip | null>(null);
  const scrub = useScrub(track, clock, view, setTip);
  const moved = useMemo(
    () => sides.map((side) => ({ side, episode: onCommonTime(side, clock) })),
    [sides, clock],
  );
  const seek = (timeNs: number) => {
    clock.pause();
    clock.seek(timeNs);
  };
  useLaneKeys(
    moved.map(({ episode }) => episode),
    clock,
    seek,
  );
  const findings = useMemo(() => moved.flatMap(({ episode }) => episode.findings), [moved]);
  return (
    <div className="timeline side-lanes" role="group" aria-label="Timeline">
      <div className="timeline-track" ref={track} {...scrub}>
        <TimelineAxis view={view} inks={inks} />
        {moved.map(({ side, episode }) => (
          <SideLanes
            key={side.letter}
            side={side}
            episode={episode}
            clock={clock}
            isBrief={isBrief}
            onSeek={seek}
            onTip={setTip}
          />
        ))}
        {mark !== null && (
          <div className="side-lanes-heads" aria-hidden>
            <i style={{ left: `${shareOf(mark, clock.startNs, clock.endNs) * 100}%` }} />
          </div>
        )}
        <TimelinePlayhead clock={clock} view={view} findings={findings} />
        <TimelineTip tip={tip} track={track} view={view} />
      </div>
    </div>
  );
}

function SideLanes({
  side,
  episode,
  clock,
  isBrief,
  onSeek,
  onTip,
}: {
  side: Side;
  episode: EpisodeDetail;
  clock: Clock;
  isBrief: boolean;
  onSeek: (timeNs: number) => void;
  onTip: (tip: Tip | null) => void;
}) {
  const { letter, moments } = side;
  const { bars, rows } = useMemo(() => findingBars(episode), [episode]);
  const throughout = useMemo(() => wholeFindings(episode), [episode]);
  const events = useAnswer((signal) => getEvents(episode.id, signal), [episode.id]);
  const detected = useMemo(
    () =>
      (events.value ?? none).map((event) => ({
        ...event,
        time_ns: mapTime(moments.time_b, moments.time_a, event.time_ns),
      })),
    [events.value, moments],
  );
  const share = (timeNs: number) =>
    shareOf(mapTime(moments.time_b, moments.time_a, timeNs), clock.startNs, clock.endNs);
  const [from, to] = [share(side.episode.start_ns), share(side.episode.end_ns)];
  const choose = (_: unknown, startNs: number | null) => startNs !== null && onSeek(startNs);
  return (
    <div className="side-lane" role="group" aria-label={`Episode ${letter}`}>
      <b style={{ background: inkOf(letter) }}>{letter}</b>
      <div className="timeline-row">
        <span className="timeline-name">Findings</span>
        {rows > 0 ? (
          <TimelineFindings
            bars={bars}
            rows={rows}
            selected={null}
            onChoose={choose}
            onTip={onTip}
          />
        ) : (
          <p className="timeline-none">
            {!episode.checked
              ? "No check has looked at this episode."
              : throughout.length
                ? "None at a moment."
                : "No findings."}
          </p>
        )}
      </div>
      {!isBrief && throughout.length > 0 && (
        <div className="timeline-row">
          <span className="timeline-name">Whole episode</span>
          <TimelineThroughout
            findings={throughout}
            selected={null}
            onChoose={choose}
            onTip={onTip}
          />
        </div>
      )}
      {detected.length > 0 && (
        <TimelineDetected
          events={detected}
          startNs={clock.startNs}
          endNs={clock.endNs}
          onSeek={onSeek}
          onTip={onTip}
        />
      )}
      {(isBrief ? [] : episode.lanes).map((lane) => (
        <TimelineLane
          key={lane.name}
          lane={lane}
          startNs={clock.startNs}
          endNs={clock.endNs}
          onTip={onTip}
        />
      ))}
      {/* Before its start and after its end there is nothing of this episode. */}
      <span className="side-lane-outside" style={{ left: 0, width: `${from * 100}%` }} />
      <span className="side-lane-outside" style={{ left: `${to * 100}%`, right: 0 }} />
    </div>
  );
}

/** An episode with its findings and lanes on the common time. */
function onCommonTime({ episode, moments }: Side, clock: Clock): EpisodeDetail {
  const moved = <T extends { start_ns: number; end_ns: number }>(each: T): T => ({
    ...each,
    start_ns: mapTime(moments.time_b, moments.time_a, each.start_ns),
    end_ns: mapTime(moments.time_b, moments.time_a, each.end_ns),
  });
  return {
    ...episode,
    start_ns: clock.startNs,
    end_ns: clock.endNs,
    findings: episode.findings.map((each) => ({ ...each, spans: each.spans.map(moved) })),
    lanes: episode.lanes.map((lane) => ({ ...lane, items: lane.items.map(moved) })),
  };
}

function useLaneKeys(
  episodes: EpisodeDetail[],
  clock: Clock,
  seek: (timeNs: number) => void,
): void {
  const to = (times: number[], direction: 1 | -1) => {
    const found = neighbour(inOrder(times), clock.timeNs, direction);
    if (found !== null) seek(found);
  };
  const findings = () =>
    episodes.flatMap((each) => each.findings.flatMap(({ spans }) => spans.map((s) => s.start_ns)));
  const events = () =>
    episodes.flatMap((each) => each.lanes.flatMap(({ items }) => items.map((i) => i.start_ns)));
  useShortcuts("Timeline", [
    { keys: ["n"], does: "Next finding of any", run: () => to(findings(), 1) },
    { keys: ["Shift+n", "p"], does: "Previous finding of any", run: () => to(findings(), -1) },
    { keys: ["e"], does: "Next event of any", run: () => to(events(), 1) },
    { keys: ["Shift+e"], does: "Previous event of any", run: () => to(events(), -1) },
  ]);
}
