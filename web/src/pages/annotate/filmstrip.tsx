import { useEffect } from "react";
import { filmstripAddress } from "../../api/annotation";
import { useClockState, useClockTime } from "../../player/use_clock";
import { moveTo } from "./actions";
import "./filmstrip.css";
import { nextOpen } from "./boundary_stops";
import { words } from "./label_keys";
import { showMoment } from "./play_around";
import type { Bench } from "./use_bench";

const around = 4;
const aligned = 8;
const perStrip = 24;
const widthPx = 168;

/** The strip that holds all pictures around a frame; the same one for most of its neighbours. */
function stripOf(frame: number): number {
  return Math.max(0, Math.floor((frame - around) / aligned) * aligned);
}

/** The pictures around the selected boundary, or around the clock where nothing is selected. */
export function Filmstrip({ bench }: { bench: Bench }) {
  const { clock, episode, line, segment, selected, stops, task, canEdit } = bench;
  const time = useClockTime(clock, 200);
  const { isPlaying } = useClockState(clock);
  const stream = episode.streams.find((each) => each.path === task.reference);
  const boundary =
    segment && selected ? (selected.edge === "start" ? segment.start_ns : segment.end_ns) : null;
  const middle = line.frameOf(boundary ?? time);
  const next = nextOpen(stops, selected);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another boundary asks for other pictures
  useEffect(() => {
    // The next boundary's pictures are there before they are asked for.
    if (next && stream?.kind === "video")
      new Image().src = filmstripAddress(
        episode.id,
        stream.path,
        stripOf(line.frameOf(next.timeNs)),
        perStrip,
        widthPx,
      );
  }, [next?.id, next?.timeNs]);
  if (!line.count || (stream?.kind !== "video" && stream?.kind !== "depth")) {
    return (
      <p className="filmstrip-none muted">
        This episode has no camera: boundaries go by {words(task.reference || "time")}. Look at the
        signals below.
      </p>
    );
  }
  const frames = Array.from({ length: 2 * around + 1 }, (_, place) => middle - around + place);
  const aspect = (stream.shape[1] ?? 4) / (stream.shape[0] ?? 3);
  const choose = (frame: number) => {
    if (boundary !== null && canEdit) moveTo(bench, line.timeOf(frame), "filmstrip");
    else showMoment(clock, line.timeOf(frame));
  };
  const shown = line.frameOf(time);
  return (
    <div
      className="filmstrip"
      role="group"
      aria-label={boundary === null ? "Pictures around the cursor" : "Pictures around the boundary"}
      data-live={boundary === null && isPlaying}
    >
      {frames.map((frame, place) => {
        if (frame < 0 || frame >= line.count)
          return <span key={place} className="filmstrip-empty" style={{ aspectRatio: aspect }} />;
        const first = stripOf(middle);
        const isBoundary = boundary !== null && frame === middle;
        return (
          <button
            key={place}
            type="button"
            className="filmstrip-picture"
            data-frame={frame}
            data-boundary={isBoundary}
            data-before={boundary !== null && frame < middle}
            aria-current={frame === shown ? "true" : undefined}
            aria-label={
              boundary === null ? `Show frame ${frame}` : `Put the boundary at frame ${frame}`
            }
            title={
              boundary === null
                ? `Show frame ${frame}`
                : isBoundary
                  ? `Frame ${frame} is the first of ${words(segment?.label ?? "")}`
                  : `Let it begin at frame ${frame}`
            }
            onClick={() => choose(frame)}
          >
            <span
              className="filmstrip-shown"
              style={{
                aspectRatio: aspect,
                backgroundImage: `url("${filmstripAddress(episode.id, stream.path, first, perStrip, widthPx)}")`,
                backgroundSize: `${perStrip * 100}% 100%`,
                backgroundPosition: `${((frame - first) / (perStrip - 1)) * 100}% 0`,
              }}
            />
            <span className="filmstrip-number num">{frame}</span>
          </button>
        );
      })}
    </div>
  );
}
