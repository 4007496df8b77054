// @vitest-environment happy-dom
import "../../testing/dom";
import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import type { EpisodeDetail } from "../../api/schema";
import { sampleEpisode, sampleFinding } from "../../testing/samples";
import { hasNews, SummaryStrip } from "./summary_strip";

const plain = new URL("http://studio/episodes/1");
const row = { verdict: "accepted", score: 0.789 } as EpisodeDetail["row"];

test("an episode without findings has no news, and one line says what is known", () => {
  const reason = "no camera";
  const quiet = sampleEpisode({
    row,
    checks: 99,
    findings: [sampleFinding({ severity: "note" })],
    not_assessed: [{ check: "picture_black", reason }],
  });
  expect(hasNews(quiet, [], plain)).toBe(false);
  render(<SummaryStrip episode={quiet} onOpen={() => undefined} />);
  expect(screen.getByRole("button").textContent).toContain(
    "no findings · 1 note · score 0.79 · 98 of 99 checks could run",
  );
});

test("a finding, or a tab that a link asks for, is news", () => {
  const found = sampleEpisode({ row, findings: [sampleFinding({ severity: "fail" })] });
  expect(hasNews(found, [], plain)).toBe(true);
  expect(hasNews(sampleEpisode({ row }), [], new URL("?tab=score", plain))).toBe(true);
});

test("one that no check has looked at does not read as clean", () => {
  const open = sampleEpisode({ row: { ...row, score: null }, checked: false });
  render(<SummaryStrip episode={open} onOpen={() => undefined} />);
  expect(screen.getByRole("button").textContent).toContain("not checked");
});
