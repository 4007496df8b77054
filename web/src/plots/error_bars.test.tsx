// @vitest-environment happy-dom
import "../testing/dom";
import { fireEvent, render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import type { JointError } from "../api/schema";
import { ErrorBars, worstGroup } from "./error_bars";

function error(column: number, name: string, largest: number, more: Partial<JointError> = {}) {
  const plain = { unit: "rad", at_ns: 2e9, mean: 0.01, lag_s: 0.084, beyond: null };
  return { column, name, largest, ...plain, ...more } satisfies JointError;
}

const beyond = "commanded 12.1 rad/s, the motor does 9.0 rad/s";
const errors = [
  error(3, "right_elbow_joint", 0.2, { beyond }),
  error(0, "left_knee_joint", 0.1, { lag_s: null }),
];

test("the worst joint stands first, with lag, and with what its motor cannot do", () => {
  const choose = vi.fn();
  render(<ErrorBars errors={errors} stream="joint_position" onChoose={choose} />);
  const [worst, next] = screen.getAllByRole("button");
  expect(worst?.textContent).toContain("right elbow");
  expect(worst?.textContent).toContain("0.2000 rad · 84 ms");
  expect(worst?.textContent).toContain(beyond);
  expect(worst?.className).toContain("is-beyond");
  expect(next?.textContent).not.toContain("ms");
  expect(next?.className).not.toContain("is-beyond");
  fireEvent.click(worst as HTMLElement);
  expect(choose).toHaveBeenCalledWith(errors[0]);
});

test("plots begin with the worse arm, not with a leg that is farther off", () => {
  const groups = [
    { name: "left leg", columns: [0, 1] },
    { name: "left arm", columns: [2] },
    { name: "right arm", columns: [3] },
    { name: "all", columns: [0, 1, 2, 3] },
  ];
  expect(worstGroup(groups, errors)?.name).toBe("right arm");
  expect(worstGroup(groups, [error(0, "left_knee_joint", 0.5), ...errors])?.name).toBe("right arm");
  expect(worstGroup(groups, [])).toBeNull();
});
