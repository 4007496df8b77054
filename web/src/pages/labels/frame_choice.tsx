import { address } from "../../api/client";
import { below } from "../../api/episode";
import type { DisagreementCard, DisagreementSide, EpisodeDetail } from "../../api/schema";
import { clockText } from "../../player/clock";
import type { Decision } from "./card_view";
import { spoken } from "./wording";

interface Props {
  card: DisagreementCard;
  episode: EpisodeDetail;
  reference: string;
  stamps: Float64Array | null;
  frame: number | null;
  isOver: boolean;
  nudge: (step: number) => void;
  decide: (decision: Decision) => void;
}

const WIDTH = 640;

/** What the two said, each with exactly the frame that they meant, and a third one to look for. */
export function FrameChoice({
  card,
  episode,
  reference,
  stamps,
  frame,
  isOver,
  nudge,
  decide,
}: Props) {
  const isBoundary = card.kind === "boundary";
  const isVideo = episode.streams.some(
    (stream) => stream.path === reference && stream.kind === "video",
  );
  const picture = (at: number) =>
    isVideo
      ? address(below(episode.id, "picture"), { stream: reference, frame: at, width: WIDTH })
      : null;
  const time = (at: number, side?: DisagreementSide) => side?.time_ns ?? stamps?.[at] ?? null;
  const sides = [
    { name: "First", choice: "first" as const, side: card.first, key: "1" },
    { name: "Second", choice: "second" as const, side: card.second, key: "2" },
  ];
  const decided = card.decided?.choice;
  return (
    <div className={`choices ${isBoundary && frame !== null ? "choices-three" : ""}`}>
      {sides.map(({ name, choice, side, key }) => (
        <figure
          key={choice}
          className={`choice choice-${choice} ${decided === choice ? "choice-taken" : ""}`}
        >
          <Shown src={picture(side.frame)} alt={`Frame ${side.frame}, ${name.toLowerCase()}`} />
          <figcaption>
            <b>{isBoundary ? `Frame ${side.frame}` : spoken(side.label)}</b>
            <span className="muted num">
              {isBoundary ? clockText(time(side.frame, side) ?? 0) : side.definition}
            </span>
            {!isOver && (
              <button
                type="button"
                className={decided === choice ? "" : "primary"}
                onClick={() => decide({ choice })}
              >
                {name} <kbd aria-hidden>{key}</kbd>
              </button>
            )}
            {isOver && decided === choice && <span className="chip accepted">decided</span>}
          </figcaption>
        </figure>
      ))}
      {isBoundary && frame !== null && (
        <figure className={`choice choice-other ${decided === "other" ? "choice-taken" : ""}`}>
          <Shown src={picture(frame)} alt={`Frame ${frame}, another one`} />
          <figcaption>
            <b>Frame {frame}</b>
            <span className="muted num">{clockText(time(frame) ?? 0)}</span>
            {!isOver && (
              <button
                type="button"
                className="primary"
                onClick={() => decide({ choice: "other", frame })}
              >
                This one <kbd aria-hidden>Enter</kbd>
              </button>
            )}
          </figcaption>
        </figure>
      )}
      {isBoundary && !isOver && (
        <p className="choices-nudge">
          <button type="button" onClick={() => nudge(-1)} aria-label="Another frame, one earlier">
            ←
          </button>
          <button type="button" onClick={() => nudge(1)} aria-label="Another frame, one later">
            →
          </button>
          <span className="muted">
            {frame === null ? "Neither? Look for another frame." : "One frame at a time."}
          </span>
        </p>
      )}
    </div>
  );
}

function Shown({ src, alt }: { src: string | null; alt: string }) {
  return src ? (
    <img src={src} alt={alt} />
  ) : (
    <p className="choice-dark">No camera to look at: go by the signal below.</p>
  );
}
