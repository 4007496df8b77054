// @vitest-environment happy-dom
import "../../testing/dom";
import { fireEvent, render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import type { EpisodeFinding } from "../../api/schema";
import { Clock } from "../../player/clock";
import { FINDING_EVENT } from "../../plots/selection";
import { serve } from "../../testing/fake_server";
import { sampleEpisode, sampleFinding } from "../../testing/samples";
import { FindingCard } from "./finding_card";

const check = {
  name: "robot_fell",
  good: "The robot stands at the end.",
  why: "A policy learns to fall.",
  fix: "Leave the episode out.",
  unit: "m",
};

function show(finding: EpisodeFinding, isChosen = false): Clock {
  const clock = new Clock(0, 4e9);
  render(
    <ul>
      <FindingCard
        episode={sampleEpisode({})}
        finding={finding}
        clock={clock}
        isChosen={isChosen}
      />
    </ul>,
  );
  return clock;
}

test("a finding says what, how grave, and how much against which limit", () => {
  show(sampleFinding());
  expect(screen.getByText(/Robot fell/)).toBeTruthy();
  expect(screen.getByText("failed")).toBeTruthy();
  expect(screen.getByText(/at least/).textContent).toBe("0.31 m, at least 0.5 m");
});

test("what has no limit shows no numbers, and what has no moment no way to it", () => {
  show(sampleFinding({ limit: null, spans: [] }));
  expect(screen.queryByText(/at least|allowed/)).toBeNull();
  expect(screen.queryByTitle("Go to this moment")).toBeNull();
});

test("opened, it tells why it matters and what to do, asked of the server only then", async () => {
  const log = serve({ "/checks/robot_fell": () => check });
  show(sampleFinding());
  expect(log).toHaveLength(0);
  fireEvent.click(screen.getByRole("button", { name: /Robot fell/ }));
  expect(await screen.findByText("Leave the episode out.")).toBeTruthy();
  expect(screen.getByText("Values and limits are in m.")).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: /Robot fell/ }));
  expect(screen.queryByText("Leave the episode out.")).toBeNull();
});

test("its moment chooses it for timeline and plots", () => {
  const heard = vi.fn();
  window.addEventListener(FINDING_EVENT, (event) => heard((event as CustomEvent).detail), {
    once: true,
  });
  show(sampleFinding({ number: 7 }));
  fireEvent.click(screen.getByTitle(/^Go to this moment/));
  expect(heard).toHaveBeenCalledExactlyOnceWith(7);
});

test("one that was seen twice takes the clock to either moment", async () => {
  serve({ "/checks/robot_fell": () => check });
  const spans = [
    { first: 30, stop: 31, start_ns: 1_500_000_000, end_ns: 1_500_000_000 },
    { first: 60, stop: 61, start_ns: 3_000_000_000, end_ns: 3_000_000_000 },
  ];
  const clock = show(sampleFinding({ spans }), true);
  fireEvent.click(screen.getByRole("button", { name: "3.000 s" }));
  expect(clock.timeNs).toBe(3_000_000_000);
  await screen.findByText("The robot stands at the end.");
});
