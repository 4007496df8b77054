// Joints near or beyond the end of their range.
import type { Joint } from "../api/schema";
import type { Figure } from "./figure";

/** The colour of a joint at its limit (warn), or beyond it (bad). */
export type Tint = "warn" | "bad";

/** How a joint stands to its limits: within 1 % of its range of one, beyond it, or fine. */
export function atLimit(joint: Pick<Joint, "lower" | "upper">, value: number): Tint | null {
  const { lower, upper } = joint;
  const range = lower !== null && upper !== null ? upper - lower : Math.PI;
  const near = 0.01 * range;
  const past = 0.001 * range;
  const over = Math.max(
    lower === null ? -Infinity : lower - value,
    upper === null ? -Infinity : value - upper,
  );
  if (over > past) return "bad";
  return over > -near ? "warn" : null;
}

/** The links whose joint is at a limit. */
export function tintOf(figure: Figure): Map<string, Tint> {
  const found = new Map<string, Tint>();
  for (const joint of figure.joints.values()) {
    const state = atLimit(joint.facts, joint.value);
    if (state) found.set(joint.facts.child, state);
  }
  return found;
}
