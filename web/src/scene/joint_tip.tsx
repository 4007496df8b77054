import type { Clock } from "../player/clock";
import { useClockTime } from "../player/use_clock";
import type { Figure } from "./figure";
import { limitText, rangeText, valueText } from "./joint_text";
import type { Hover } from "./pointer";

/** What is under the pointer: the link, its joint, and where that stands. */
export function JointTip({ hover, figure, clock }: { hover: Hover; figure: Figure; clock: Clock }) {
  useClockTime(clock);
  const joint = [...figure.joints.values()].find((each) => each.facts.child === hover.link);
  const limit = joint && limitText(joint.facts, joint.value);
  return (
    <div className="scene-tip" style={{ left: hover.x, top: hover.y }} aria-hidden="true">
      <b>{joint ? joint.facts.name : hover.link}</b>
      {joint ? (
        <span className="num">
          {valueText(joint.facts, joint.value)} {limit && <em>{limit}</em>}
        </span>
      ) : (
        <span>the base</span>
      )}
      {joint && <small className="num">{rangeText(joint.facts)}</small>}
    </div>
  );
}
