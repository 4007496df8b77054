import type { RefObject } from "react";
import type { EpisodeFinding } from "../api/schema";
import { againstLimit } from "../parts/words";
import { clockText } from "./clock";

export interface Tip {
  share: number;
  timeNs: number;
  finding?: EpisodeFinding;
  text?: string;
  more?: string;
}

/** What lies below the pointer, in words; above the timeline, which may scroll. */
export function TimelineTip({
  tip,
  track,
}: {
  tip: Tip | null;
  track: RefObject<HTMLElement | null>;
}) {
  const axis = track.current?.querySelector(".timeline-axis")?.getBoundingClientRect();
  const box = track.current?.parentElement?.getBoundingClientRect();
  if (!tip || !axis || !box) return null;
  const { finding } = tip;
  const style = {
    left: axis.left + tip.share * axis.width,
    bottom: window.innerHeight - box.top + 6,
    transform: `translateX(${-tip.share * 100}%)`,
  };
  return (
    <div className="timeline-tip" role="tooltip" style={style}>
      <b className="num">{clockText(tip.timeNs)}</b>
      {finding && (
        <>
          <span className={`chip ${finding.severity}`}>{finding.check.replaceAll("_", " ")}</span>
          <p>{finding.message}</p>
          {finding.value !== null && finding.limit !== null && (
            <p className="muted num">{againstLimit(finding.value, finding.limit, finding.unit)}</p>
          )}
        </>
      )}
      {tip.text && <p>{tip.text}</p>}
      {tip.more && <p className="muted">{tip.more}</p>}
    </div>
  );
}
