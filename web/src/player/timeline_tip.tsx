import type { RefObject } from "react";
import type { EpisodeFinding } from "../api/schema";
import { againstLimit, checkTitle } from "../parts/words";
import type { ViewWindow } from "../plots/window";
import { clockText } from "./clock";
import { Preview, type PreviewSource } from "./preview";
import { shareOf } from "./timeline_rows";

export interface Tip {
  timeNs: number;
  finding?: EpisodeFinding;
  text?: string;
  more?: string;
}

/** What lies below the pointer, in words; above the timeline, which may scroll. */
export function TimelineTip({
  tip,
  track,
  view,
  preview,
  titleOf,
}: {
  tip: Tip | null;
  track: RefObject<HTMLElement | null>;
  view: ViewWindow;
  preview?: PreviewSource | null;
  titleOf?: (timeNs: number) => string;
}) {
  const axis = track.current?.querySelector(".timeline-axis")?.getBoundingClientRect();
  const box = track.current?.parentElement?.getBoundingClientRect();
  if (!tip || !axis || !box) return null;
  const { finding } = tip;
  const share = shareOf(tip.timeNs, view.startNs, view.endNs);
  const style = {
    left: axis.left + share * axis.width,
    bottom: window.innerHeight - box.top + 6,
    transform: `translateX(${-share * 100}%)`,
  };
  return (
    <div className="timeline-tip" role="tooltip" style={style}>
      {preview && <Preview source={preview} timeNs={tip.timeNs} />}
      <b className="num">{clockText(tip.timeNs)}</b>
      {titleOf && <span className="muted num"> {titleOf(tip.timeNs)}</span>}
      {finding && (
        <>
          <span className={`chip ${finding.severity}`}>{checkTitle(finding.check)}</span>
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
