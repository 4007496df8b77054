import { expect, test } from "vitest";
import type { EpisodeFinding } from "../../api/schema";
import { evidenceOf } from "./evidence";

function finding(more: Partial<EpisodeFinding>): EpisodeFinding {
  const plain = {
    number: 1,
    check: "c",
    stream: null,
    value: null,
    limit: null,
    unit: "1",
    message: "",
    spans: [],
    evidence: null,
  };
  return { ...plain, severity: "fail", ...more };
}

test("curves of the length of time_s are drawn over it, others are not", () => {
  const [found] = evidenceOf(
    finding({ evidence: { time_s: [0, 1, 2], height: [1, null, 0.1], other: [1, 2] } }),
  );
  expect(found?.timeS).toEqual([0, 1, 2]);
  expect(found?.curves.map(({ name }) => name)).toEqual(["height"]);
});

test("a limit is drawn when its value is the peak of a curve and lies near", () => {
  const evidence = { time_s: [0, 1, 2], height: [1, 0.8, 0.1] };
  expect(evidenceOf(finding({ evidence, value: 0.1, limit: 0.5 }))[0]?.limit).toBe(0.5);
  expect(evidenceOf(finding({ evidence, value: 7, limit: 0.5 }))[0]?.limit).toBeNull();
});

test("nothing is drawn from nothing", () => {
  expect(evidenceOf(finding({}))).toEqual([]);
  expect(evidenceOf(finding({ evidence: { time_s: [0, null, 2], a: [1, 2, 3] } }))).toEqual([]);
});

test("a curve that another would flatten has a picture of its own", () => {
  const evidence = {
    time_s: [0, 1, 2],
    share: [1, 0.5, 0.1],
    tilt_deg: [0, 40, 98],
    more: [0, 50, 90],
  };
  const names = evidenceOf(finding({ evidence })).map(({ curves }) =>
    curves.map(({ name }) => name),
  );
  expect(names).toEqual([["share"], ["tilt_deg"], ["more"]]);
});
