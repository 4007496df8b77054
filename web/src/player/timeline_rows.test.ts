import { expect, it } from "vitest";
import type { EpisodeDetail, EpisodeFinding } from "../api/schema";
import {
  findingBars,
  joined,
  laneBars,
  momentOf,
  moments,
  neighbour,
  wholeFindings,
} from "./timeline_rows";

function finding(
  number: number,
  severity: EpisodeFinding["severity"],
  ...spans: [number, number][]
): EpisodeFinding {
  return {
    number,
    check: "gap_in_stream",
    severity,
    stream: "observations/x",
    value: null,
    limit: null,
    unit: "1",
    message: "",
    evidence: null,
    spans: spans.map(([start_ns, end_ns]) => ({ first: 0, stop: 1, start_ns, end_ns })),
  };
}

function episode(...findings: EpisodeFinding[]): EpisodeDetail {
  return { start_ns: 0, end_ns: 1000, findings } as unknown as EpisodeDetail;
}

it("puts the worst into the first row and what overlaps it below", () => {
  const { bars, rows } = findingBars(
    episode(
      finding(1, "note", [100, 300]),
      finding(2, "fail", [200, 400]),
      finding(3, "fail", [600, 600]),
    ),
  );
  expect(rows).toBe(2);
  expect(bars.map((bar) => [bar.finding.number, bar.row])).toEqual([
    [2, 0],
    [3, 0],
    [1, 1],
  ]);
});

it("joins near spans and bounds how many marks a finding has", () => {
  const bars = (spans: [number, number][]) =>
    spans.map(([from, to]) => ({ from, to, startNs: from, endNs: to }));
  expect(
    joined(
      bars([
        [0.5, 0.6],
        [0.1, 0.2],
        [0.15, 0.3],
      ]),
      0.01,
    ).map((bar) => [bar.from, bar.to]),
  ).toEqual([
    [0.1, 0.3],
    [0.5, 0.6],
  ]);
  const many = Array.from({ length: 500 }, (_, place): [number, number] => [place * 2, place * 2]);
  expect(findingBars(episode(finding(1, "fail", ...many))).bars.length).toBeLessThanOrEqual(60);
});

it("keeps rows few however much overlaps", () => {
  const all = Array.from({ length: 30 }, (_, place) => finding(place, "fail", [0, 1000]));
  expect(findingBars(episode(...all)).rows).toBeLessThanOrEqual(4);
});

it("tells findings of a moment from those of the whole", () => {
  const both = episode(finding(1, "note"), finding(2, "fail", [7, 9], [3, 4]));
  expect(wholeFindings(both).map((each) => each.number)).toEqual([1]);
  expect(momentOf(both.findings[1] as EpisodeFinding)).toBe(3);
  expect(momentOf(both.findings[0] as EpisodeFinding)).toBeNull();
});

it("goes to the next moment and the one before, and stays at the ends", () => {
  const times = moments([30, 10, 10, 20]);
  expect(times).toEqual([10, 20, 30]);
  expect(neighbour(times, 10, 1)).toBe(20);
  expect(neighbour(times, 10, -1)).toBeNull();
  expect(neighbour(times, 30, 1)).toBeNull();
  expect(neighbour(times, 25, -1)).toBe(20);
});

it("lets an event last until the next one", () => {
  const bars = laneBars(
    [
      { label: "start", detail: "", start_ns: 100, end_ns: 100 },
      { label: "end", detail: "", start_ns: 600, end_ns: 600 },
    ],
    0,
    1000,
  );
  expect(bars.map((bar) => [bar.from, bar.to, bar.isEvent])).toEqual([
    [0.1, 0.6, true],
    [0.6, 1, true],
  ]);
});
