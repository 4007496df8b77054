// @vitest-environment happy-dom
import "../../testing/dom";
import { act, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import type { LabelDefinition, LabelLane, TopicExamples } from "../../api/schema";
import { sampleBench } from "../../testing/samples";
import type { Cards } from "./cards";
import { Guide } from "./guide";

const grasp = {
  name: "grasp",
  definition: "The hand closes.",
  key: "g",
  starts: { text: "First frame of touch.", event: "touch", otherwise: [] },
  ends: null,
  attributes: [],
  examples: [],
  not_this: [],
} as unknown as LabelDefinition;
const lane = { name: "phase", title: "Phases", labels: [grasp] } as unknown as LabelLane;

const example = {
  episode: "other",
  file: "<odd>.h5",
  stream: "observations/head",
  start_ns: 1_000_000_000,
  end_ns: 1_500_000_000,
  pictures: [
    { caption: "before", frame: 29 },
    { caption: "first", frame: 30 },
  ],
  clip: [30, 37, 44],
};
const topics: TopicExamples[] = [
  { lane: "phase", attribute: null, name: "grasp", examples: [example] },
  { lane: null, attribute: "grasp_type", name: "pinch", examples: [example] },
];

function answer(value: TopicExamples[] | null, error: Error | null = null): Cards {
  return { value, error, waiting: !value && !error, again: () => {} };
}

const segment = { lane: "phase", label: "grasp", attributes: { grasp_type: "pinch" } };
const selected = sampleBench({}, { lane, segment } as never);

afterEach(() => vi.useRealTimers());

test("a selected label shows the frames of another episode, and those of what was said", () => {
  render(<Guide bench={selected} label={grasp} cards={answer(topics)} />);
  const pictures = screen.getAllByRole<HTMLImageElement>("img", { hidden: true });
  expect(pictures.map((each) => each.alt)).toEqual([
    "grasp, before",
    "grasp, first",
    "pinch, before",
    "pinch, first",
  ]);
  expect(pictures[1]?.src).toContain(
    "/api/episodes/other/picture?stream=observations%2Fhead&frame=30&width=280",
  );
  expect(screen.getAllByText("<odd>.h5, 1.00 s to 1.50 s")).toHaveLength(2);
  expect(screen.getByText("Between two fingers.")).toBeTruthy();
});

test("under the pointer a stretch is stepped through, and begins anew at its end", () => {
  vi.useFakeTimers();
  render(<Guide bench={selected} label={grasp} cards={answer(topics.slice(0, 1))} />);
  const frame = () =>
    new URL(screen.getByRole<HTMLImageElement>("img", { name: / of 3$/ }).src).searchParams.get(
      "frame",
    );
  const figure = screen.getByRole("figure");
  fireEvent.pointerEnter(figure);
  const seen = [frame()];
  for (let turn = 0; turn < 3; turn++) {
    act(() => void vi.advanceTimersByTime(180));
    seen.push(frame());
  }
  expect(seen).toEqual(["30", "37", "44", "30"]);
  fireEvent.pointerLeave(figure);
  expect(screen.queryByRole("img", { name: / of 3$/ })).toBeNull();
});

test("with nothing selected every label of the lane is a card with its key and its rule", () => {
  const bench = sampleBench({}, { lane } as never);
  render(<Guide bench={bench} label={null} cards={answer(topics)} />);
  expect(screen.getByText("G").tagName).toBe("KBD");
  expect(screen.getByText("The hand closes.")).toBeTruthy();
  expect(screen.getByText("Begins: First frame of touch.")).toBeTruthy();
  expect(screen.getByAltText("grasp, first")).toBeTruthy();
});

test("a label that nobody has shown yet says so, and so does a server that is away", () => {
  const { rerender } = render(<Guide bench={selected} label={grasp} cards={answer([])} />);
  expect(screen.getByText(/^No picture yet/)).toBeTruthy();
  rerender(<Guide bench={selected} label={grasp} cards={answer(null, new Error("Away."))} />);
  expect(screen.getByText("No pictures: Away.")).toBeTruthy();
});
