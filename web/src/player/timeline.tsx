import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { EpisodeDetail, EpisodeFinding, EventFacts } from "../api/schema";
import { useShortcuts } from "../parts/shortcuts";
import { useInks } from "../plots/inks";
import { selectFinding, useSelectedFinding } from "../plots/selection";
import { useWheelZoom } from "../plots/use_wheel_zoom";
import { type ViewWindow, windowOf } from "../plots/window";
import type { Clock } from "./clock";
import { momentTitle } from "./moment";
import { previewSource } from "./preview";
import "./timeline.css";
import { TimelineAxis } from "./timeline_axis";
import { TimelineDetected } from "./timeline_detected";
import { TimelineFindings, TimelineThroughout } from "./timeline_findings";
import { TimelineLane } from "./timeline_lane";
import { TimelinePlayhead } from "./timeline_playhead";
import { findingBars, moments, neighbour, shareOf, wholeFindings } from "./timeline_rows";
import { useScrub } from "./timeline_scrub";
import { TimelineTip, type Tip } from "./timeline_tip";

export interface TimelineProps {
  episode: EpisodeDetail;
  clock: Clock;
  /** Events that detectors found, where the page asks for them. */
  detected?: EventFacts[];
}

const none: EventFacts[] = [];

/** The whole episode as one line: what was found, what happened, where the clock stands. */
export function Timeline({ episode, clock, detected = none }: TimelineProps) {
  const view = windowOf(clock);
  const inks = useInks();
  const selected = useSelectedFinding();
  const track = useRef<HTMLDivElement>(null);
  const [tip, setTip] = useState<Tip | null>(null);
  const { bars, rows } = useMemo(() => findingBars(episode), [episode]);
  const throughout = useMemo(() => wholeFindings(episode), [episode]);
  const scrub = useScrub(track, clock, view, setTip);
  const axis = useRef<HTMLDivElement>(null);
  useWheelZoom(axis, view, 0);
  useScale(track, view);
  const titleOf = (timeNs: number) => momentTitle(episode, clock, timeNs);
  const preview = useMemo(() => previewSource(episode), [episode]);
  const choose = (finding: EpisodeFinding, startNs: number | null) => {
    selectFinding(finding.number);
    if (startNs !== null) {
      clock.pause();
      clock.seek(startNs);
    }
  };
  const seek = useCallback(
    (timeNs: number) => {
      clock.pause();
      clock.seek(timeNs);
    },
    [clock],
  );
  useTimelineKeys(episode, clock, choose);
  return (
    <div className="timeline" role="group" aria-label="Timeline">
      <div className="timeline-track" ref={track} {...scrub}>
        <div ref={axis}>
          <TimelineAxis view={view} inks={inks} />
        </div>
        {rows > 0 && (
          <div className="timeline-row">
            <span className="timeline-name">Findings</span>
            <TimelineFindings
              bars={bars}
              rows={rows}
              selected={selected}
              onChoose={choose}
              onTip={setTip}
            />
          </div>
        )}
        {throughout.length > 0 && (
          <div className="timeline-row">
            <span className="timeline-name">Whole episode</span>
            <TimelineThroughout
              findings={throughout}
              selected={selected}
              onChoose={choose}
              onTip={setTip}
            />
          </div>
        )}
        {!episode.findings.length && (
          <div className="timeline-row">
            <span className="timeline-name">Findings</span>
            <p className="timeline-none">
              {episode.checked ? "No findings." : "No check has looked at this episode."}
            </p>
          </div>
        )}
        {detected.length > 0 && (
          <TimelineDetected
            events={detected}
            startNs={clock.startNs}
            endNs={clock.endNs}
            onSeek={seek}
            onTip={setTip}
          />
        )}
        {episode.lanes.map((lane) => (
          <TimelineLane
            key={lane.name}
            lane={lane}
            startNs={clock.startNs}
            endNs={clock.endNs}
            onTip={setTip}
          />
        ))}
        <TimelinePlayhead clock={clock} view={view} findings={episode.findings} />
        <TimelineTip tip={tip} track={track} view={view} preview={preview} titleOf={titleOf} />
      </div>
    </div>
  );
}

/** The rows show the window of the plots: they are as much wider, and moved, as it is smaller. */
function useScale(track: RefObject<HTMLElement | null>, view: ViewWindow): void {
  useEffect(() => {
    const put = () => {
      const whole = Math.max(view.wholeEndNs - view.wholeStartNs, 1);
      const from = shareOf(view.startNs, view.wholeStartNs, view.wholeEndNs);
      track.current?.style.setProperty("--zoom", String(Math.max(whole / view.spanNs, 1)));
      track.current?.style.setProperty("--from", String(from));
    };
    put();
    return view.subscribe(put);
  }, [track, view]);
}

function useTimelineKeys(
  episode: EpisodeDetail,
  clock: Clock,
  choose: (finding: EpisodeFinding, startNs: number) => void,
): void {
  const found = useMemo(() => {
    const starts = episode.findings.flatMap((finding) =>
      finding.spans.map((span) => ({ finding, at: span.start_ns })),
    );
    const events = moments(
      episode.lanes.flatMap((lane) => lane.items.map((item) => item.start_ns)),
    );
    return { starts, times: moments(starts.map((each) => each.at)), events };
  }, [episode]);
  const toFinding = (direction: 1 | -1) => {
    const at = neighbour(found.times, clock.timeNs, direction);
    const next = found.starts.find((each) => each.at === at);
    if (next) choose(next.finding, next.at);
  };
  const toEvent = (direction: 1 | -1) => {
    const at = neighbour(found.events, clock.timeNs, direction);
    if (at !== null) clock.seek(at);
  };
  useShortcuts("Timeline", [
    { keys: ["n"], does: "Next finding", run: () => toFinding(1) },
    { keys: ["Shift+n", "p"], does: "Previous finding", run: () => toFinding(-1) },
    { keys: ["e"], does: "Next event", run: () => toEvent(1) },
    { keys: ["Shift+e"], does: "Previous event", run: () => toEvent(-1) },
  ]);
}
