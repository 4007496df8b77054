import { describe, expect, it } from "vitest";
import type { DisagreementCard } from "../../api/schema";
import { around, frameOf, inkOf, nextCard } from "./card_navigation";

const decided = { choice: "first" as const, frame: null, label: null, by: "lee", at: "" };

function card(id: string, isDecided = false): DisagreementCard {
  return {
    id,
    start_ns: 2e9,
    end_ns: 2.1e9,
    decided: isDecided ? decided : null,
  } as DisagreementCard;
}

describe("deciding", () => {
  it("goes on to the next card that is open, around the end, and stops behind the last", () => {
    const cards = [card("a"), card("b", true), card("c")];
    expect(nextCard(cards, -1)).toBe(0);
    expect(nextCard(cards, 0)).toBe(2);
    expect(nextCard(cards, 2)).toBe(0);
    expect(
      nextCard(
        cards.map((each) => ({ ...each, decided })),
        0,
      ),
    ).toBe(3);
  });
  it("shows half a second before and after, but nothing outside of the episode", () => {
    expect(around(card("a"), 0, 10e9)).toEqual([1.5e9, 2.6e9]);
    expect(around(card("a"), 1.9e9, 2.2e9)).toEqual([1.9e9, 2.2e9]);
  });
  it("counts frames from 0 and stays inside", () => {
    expect(frameOf([0, 10, 20], 19)).toBe(1);
    expect(frameOf([5, 10], 1)).toBe(0);
  });
  it("keeps the colour of a label", () => {
    expect(inkOf("grasp", ["reach", "grasp"])).toBe("var(--line-2)");
  });
});
