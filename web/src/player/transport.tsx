import { useState } from "react";
import type { EpisodeDetail } from "../api/schema";
import { useAddress } from "../parts/router";
import { useShortcuts } from "../parts/shortcuts";
import { type Clock, clockText, frameAt, RATES } from "./clock";
import { JumpField } from "./jump_field";
import { frameOf, momentOf, momentTitle } from "./moment";
import "./transport.css";
import { useClockState, useClockTime } from "./use_clock";
import { useCopied } from "./use_copied";
import { isAt, momentLink, useMomentLink } from "./use_moment_link";

export interface TransportProps {
  episode: EpisodeDetail;
  clock: Clock;
}

/** Play, step, jump, and a link to the moment. */
export function Transport({ episode, clock }: TransportProps) {
  const { isPlaying, rate } = useClockState(clock);
  const [said, copy] = useCopied();
  const [mark, setMark] = useState<number | null>(null);
  useMomentLink(episode.id, clock);
  const copyLink = () => copy(momentLink(episode.id, clock));
  const change = (by: number) =>
    clock.setRate(RATES[clamp(nearest(clock.rate) + by, RATES.length)] as number);
  const markStart = () => {
    setMark(clock.timeNs);
    clock.setLoop(null);
  };
  const markEnd = () => {
    const from = mark ?? clock.startNs;
    clock.setLoop({ startNs: Math.min(from, clock.timeNs), endNs: Math.max(from, clock.timeNs) });
    setMark(null);
  };
  const endLoop = () => {
    setMark(null);
    clock.setLoop(null);
  };
  useShortcuts("Playing", [
    { keys: [" "], does: "Play or pause", run: () => clock.toggle() },
    { keys: ["ArrowLeft", ","], does: "Previous frame", run: () => clock.step(-1) },
    { keys: ["ArrowRight", "."], does: "Next frame", run: () => clock.step(1) },
    { keys: ["Shift+ArrowLeft"], does: "Ten frames back", run: () => clock.step(-10) },
    { keys: ["Shift+ArrowRight"], does: "Ten frames on", run: () => clock.step(10) },
    { keys: ["Home"], does: "To the start", run: () => clock.seek(clock.startNs) },
    { keys: ["End"], does: "To the end", run: () => clock.seek(clock.endNs) },
    { keys: ["[", "-"], does: "Slower", run: () => change(-1) },
    { keys: ["]", "+"], does: "Faster", run: () => change(1) },
    { keys: ["l"], does: "Copy a link to this moment", run: copyLink },
  ]);
  // Pages of another kind have their own use for these letters: A accepts in a review.
  const loopKeys = [
    { keys: ["Shift+a"], does: "Mark the start of a loop", run: markStart },
    { keys: ["Shift+b"], does: "Mark its end and play it over and over", run: markEnd },
    { keys: ["Shift+a"], does: "End the loop", run: endLoop },
  ];
  useShortcuts("Playing", loopKeys, isAt(useAddress(), episode.id));
  return (
    <div className="transport" role="group" aria-label="Playing">
      <span className="transport-group">
        <Step label="Ten frames back" sign="«" run={() => clock.step(-10)} />
        <Step label="Previous frame" sign="‹" run={() => clock.step(-1)} />
        <button
          type="button"
          className="transport-play primary"
          aria-label={isPlaying ? "Pause" : "Play"}
          title={`${isPlaying ? "Pause" : "Play"} (Space)`}
          onClick={() => clock.toggle()}
        >
          <span aria-hidden>{isPlaying ? "❚❚" : "▶"}</span>
        </button>
        <Step label="Next frame" sign="›" run={() => clock.step(1)} />
        <Step label="Ten frames on" sign="»" run={() => clock.step(10)} />
      </span>
      <Place episode={episode} clock={clock} />
      <span className="transport-group" role="group" aria-label="Speed">
        {RATES.map((each) => (
          <button
            key={each}
            type="button"
            className="quiet num"
            aria-pressed={rate === each}
            aria-label={`${each}x speed`}
            onClick={() => clock.setRate(each)}
          >
            {each}x
          </button>
        ))}
      </span>
      <LoopText clock={clock} mark={mark} onEnd={endLoop} />
      <span className="transport-end">
        <span role="status" className="muted">
          {said}
        </span>
        <button
          type="button"
          className="quiet"
          title="Copy a link to this moment (l)"
          onClick={copyLink}
        >
          Copy link
        </button>
      </span>
    </div>
  );
}

function Step({ label, sign, run }: { label: string; sign: string; run: () => void }) {
  return (
    <button
      type="button"
      className="quiet transport-step"
      aria-label={label}
      title={label}
      onClick={run}
    >
      <span aria-hidden>{sign}</span>
    </button>
  );
}

/** The time and the frame of now; both can be typed. */
function Place({ episode, clock }: TransportProps) {
  const time = useClockTime(clock, 50);
  const { steps } = useClockState(clock);
  const frame = frameAt(clock.stepTimes, time);
  const toTime = (text: string) => {
    const moment = momentOf(text);
    if (moment !== null) clock.seek(moment);
    return moment !== null;
  };
  const toFrame = (text: string) => {
    const wanted = frameOf(text);
    if (wanted === null || wanted >= clock.stepTimes.length) return false;
    clock.pause();
    clock.seek(clock.stepTimes[wanted] as number);
    return true;
  };
  return (
    <span className="transport-group transport-place" title={momentTitle(episode, clock, time)}>
      <JumpField label="Time" shown={clockText(time)} width="11ch" onJump={toTime} />
      <span className="muted num">/ {clockText(clock.endNs)}</span>
      {steps > 0 && (
        <span
          className="transport-group transport-frame"
          title={`Frame of ${clock.stepName}, counted from 0`}
        >
          <span className="muted">frame</span>
          <JumpField
            label={`Frame of ${clock.stepName}`}
            shown={frame < 0 ? "–" : String(frame)}
            width={`${String(steps).length + 4}ch`}
            onJump={toFrame}
          />
          <span className="muted num">/ {steps - 1}</span>
        </span>
      )}
    </span>
  );
}

function LoopText({
  clock,
  mark,
  onEnd,
}: {
  clock: Clock;
  mark: number | null;
  onEnd: () => void;
}) {
  useClockState(clock);
  if (mark !== null)
    return <span className="muted num">loop from {clockText(mark)}: press B at its end</span>;
  if (!clock.loop) return null;
  return (
    <button type="button" className="quiet num" onClick={onEnd}>
      loop {clockText(clock.loop.startNs)} to {clockText(clock.loop.endNs)} ×
    </button>
  );
}

function nearest(rate: number): number {
  const place = RATES.findIndex((each) => each >= rate);
  return place < 0 ? RATES.length - 1 : place;
}

function clamp(place: number, count: number): number {
  return Math.min(Math.max(place, 0), count - 1);
}
