// Which card comes next, and how frames and labels are shown.
import type { DisagreementCard } from "../../api/schema";
import { frameAt } from "../../player/clock";

/** The next card after a place that is not decided, else any before it, else the end. */
export function nextCard(cards: DisagreementCard[], place: number): number {
  const after = cards.findIndex((card, at) => at > place && !card.decided);
  if (after >= 0) return after;
  const before = cards.findIndex((card) => !card.decided);
  return before >= 0 ? before : cards.length;
}

/** The frame that a time shows, within the stream. */
export function frameOf(stamps: ArrayLike<number>, timeNs: number): number {
  return Math.min(Math.max(frameAt(stamps, timeNs), 0), Math.max(stamps.length - 1, 0));
}

/** The same label has the same colour wherever it is drawn. */
export function inkOf(label: string, labels: string[]): string {
  return `var(--line-${(Math.max(labels.indexOf(label), 0) % 10) + 1})`;
}

/** A little more than what is disputed, so that one sees what leads to it. */
export function around(card: DisagreementCard, startNs: number, endNs: number): [number, number] {
  const margin = Math.max(5e8, (card.end_ns - card.start_ns) * 0.75);
  return [Math.max(card.start_ns - margin, startNs), Math.min(card.end_ns + margin, endNs)];
}
