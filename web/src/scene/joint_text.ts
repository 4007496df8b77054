// A joint in words: what it is, where it stands, and how far it may go.
import type { Joint } from "../api/schema";
import { atLimit } from "./limits";

/** An angle or length as people read it. */
export function valueText(joint: Pick<Joint, "type">, value: number): string {
  return joint.type === "prismatic"
    ? `${(value * 1000).toFixed(1)} mm`
    : `${((value * 180) / Math.PI).toFixed(1)}°`;
}

export function rangeText(joint: Joint): string {
  if (joint.lower === null || joint.upper === null) return "no limits known";
  return `${valueText(joint, joint.lower)} to ${valueText(joint, joint.upper)}`;
}

export function limitText(joint: Joint, value: number): string | null {
  const state = atLimit(joint, value);
  if (state === null) return null;
  return state === "bad" ? "beyond its limit" : "at its limit";
}
