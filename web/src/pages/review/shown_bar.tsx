import { useEffect, useState } from "react";
import { type Clock, LATE_NS } from "../../player/clock";
import type { Shown } from "./shown";
import "./shown_bar.css";

const EVERY_MS = 200;

/** Fills where the episode was really shown, and says when the clock waits for pictures. */
export function ShownBar({ shown, clock }: { shown: Shown; clock: Clock }) {
  const [, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTick((n) => n + 1), EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  const whole = clock.endNs - clock.startNs || 1;
  const at = (timeNs: number) => `${(100 * (timeNs - clock.startNs)) / whole}%`;
  const percent = Math.round(100 * shown.share);
  const isLate = clock.isPlaying && clock.behindNs > LATE_NS;
  return (
    <div className="shown">
      <span className="shown-words num">{isLate ? "late pictures…" : `${percent} % shown`}</span>
      <div
        className="shown-bar"
        role="progressbar"
        aria-label="Shown of this episode"
        aria-valuenow={percent}
        aria-valuetext={`${percent} % shown`}
      >
        {shown.spans.map(({ startNs, endNs }) => (
          <span
            key={startNs}
            style={{ left: at(startNs), width: `${(100 * (endNs - startNs)) / whole}%` }}
          />
        ))}
      </div>
    </div>
  );
}
