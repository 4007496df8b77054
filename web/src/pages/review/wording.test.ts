import { describe, expect, it } from "vitest";
import type { EpisodeDetail, ReviewItem } from "../../api/schema";
import { becauseOf, firstPicture, nextMark, plural, sentence } from "./wording";

function item(because: string): ReviewItem {
  return { because, stratum: "op1 · st1" } as ReviewItem;
}

describe("words of the review page", () => {
  it("say why an episode is here", () => {
    expect(becauseOf(item("drawn"))).toMatchObject({ detail: "of op1 · st1", episode: null });
    expect(becauseOf(item("neighbour of 01a1"))).toMatchObject({
      episode: "01a1",
      detail: "not counted for the batch",
    });
    expect(becauseOf(item("quarantined")).title).toBe("Quarantined");
  });

  it("find the next mark and begin again behind the last", () => {
    const marks = [{ timeNs: 5 }, { timeNs: 9 }];
    expect(nextMark(marks, 0)?.timeNs).toBe(5);
    expect(nextMark(marks, 5)?.timeNs).toBe(9);
    expect(nextMark(marks, 9)?.timeNs).toBe(5);
    expect(nextMark([], 0)).toBeNull();
  });

  it("begin with the first picture, not with the first signal", () => {
    const streams = [
      { kind: "array", first_ns: -900 },
      { kind: "video", first_ns: -400 },
      { kind: "video", first_ns: 5000 },
    ];
    expect(firstPicture({ start_ns: -900, streams } as EpisodeDetail)).toBe(-400);
    expect(firstPicture({ start_ns: -900, streams: streams.slice(0, 1) } as EpisodeDetail)).toBe(
      -900,
    );
  });

  it("count and end sentences", () => {
    expect([plural(1, "decision"), plural(2, "decision")]).toEqual(["1 decision", "2 decisions"]);
    expect(sentence("look at 2 of 3")).toBe("Look at 2 of 3.");
  });
});
