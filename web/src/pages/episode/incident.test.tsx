// @vitest-environment happy-dom
import "../../testing/dom";
import { fireEvent, render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import type { EpisodeDetail, EventFacts } from "../../api/schema";
import { Clock } from "../../player/clock";
import { sampleEpisode } from "../../testing/samples";
import { Incident } from "./incident";

function event(timeS: number, name: string, side = ""): EventFacts {
  const stream = "observations/base_pose";
  return { time_ns: timeS * 1e9, name, side, stream, confidence: 0.9, uncertainty_ns: 6e7 };
}

// As in the demo's fall: events of a simulation begin half a second after the episode.
const fall = sampleEpisode({
  row: { verdict: "failed", success: false, failure: "fall" } as EpisodeDetail["row"],
  end_ns: 1e10,
  metadata: {
    variation: { push_ns: [30, 4], push_time_s: 2.29 },
    events: [{ time_s: 3.736, name: "fall", detail: "" }],
  },
  lanes: [
    {
      name: "outcome",
      items: [
        { label: "start", detail: "", start_ns: 5e8, end_ns: 5e8 },
        { label: "contact", detail: "robot against furniture", start_ns: 3.62e9, end_ns: 3.62e9 },
        { label: "fall", detail: "", start_ns: 4.236e9, end_ns: 4.236e9 },
        { label: "contact", detail: "robot against floor", start_ns: 4.4e9, end_ns: 4.4e9 },
      ],
    },
  ],
});
const events = [
  event(0.4, "base_moves"),
  // Smoothed: within what the detection leaves open it may follow the push.
  event(2.76, "base_moves"),
  event(2.92, "foot_leaves", "left"),
  event(3.1, "motion_begins"),
  event(3.15, "gripper_closes", "right"),
  event(3.2, "foot_leaves", "left"),
  event(4.3, "hand_bumps", "right"),
];

test("what happened before a fall stands in order, and each leads to its moment", () => {
  const clock = new Clock(0, 1e10, 0);
  const pause = vi.spyOn(clock, "pause");
  render(<Incident episode={fall} clock={clock} events={events} />);
  const links = screen.getByRole("list", { name: "Before, in order" });
  expect([...links.children].map((item) => item.textContent)).toEqual([
    "pushed (simulation) 2.790 s",
    "base moves ≈ 2.76 s",
    "left foot leaves ≈ 2.92 s",
    "contact: robot against furniture 3.620 s",
  ]);
  expect(document.body.textContent).not.toMatch(/after/);
  fireEvent.click(screen.getByRole("button", { name: /left foot leaves/ }));
  expect(clock.timeNs).toBe(2.92e9);
  expect(pause).toHaveBeenCalledOnce();
});

test("where no push was simulated and nothing was detected, no chain is made up", () => {
  const variation = { push_ns: [0, 0], push_time_s: 3.1 };
  const plain = { ...fall, metadata: { variation }, lanes: [] };
  const clock = new Clock(0, 1e10, 0);
  render(<Incident episode={plain} clock={clock} events={[]} />);
  expect(screen.queryByRole("list")).toBeNull();
  expect(document.body.textContent).toMatch(/the robot fell\./);
});
