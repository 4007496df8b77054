import { useLayoutEffect, useRef } from "react";
import { type Shortcut, useShortcuts } from "../../parts/shortcuts";
import {
  accept,
  changeLane,
  goTo,
  mergeOn,
  nudge,
  removeSelected,
  setLabel,
  snapToEvent,
  splitHere,
  toEvent,
} from "./actions";
import { labelKeys, words } from "./label_keys";
import { showMoment } from "./play_around";
import type { Bench } from "./use_bench";

type Key = Omit<Shortcut, "section">;

const own =
  "input:not([type=checkbox], [type=radio], [type=range]), textarea, select, [contenteditable=true], dialog";
const pressable = "button, a, summary, [role=button], [role=tab]";

function nameOf(event: KeyboardEvent): string {
  const parts = [];
  if (event.ctrlKey || event.metaKey) parts.push("Ctrl");
  if (event.altKey) parts.push("Alt");
  if (event.shiftKey && (event.key.length > 1 || /[a-z]/i.test(event.key))) parts.push("Shift");
  parts.push(event.key.length === 1 ? event.key.toLowerCase() : event.key);
  return parts.join("+");
}

/** Keys that come before those of the players on the page; `?` lists them all the same. */
function useKeysFirst(section: string, list: Key[], enabled: boolean): void {
  useShortcuts(section, list, enabled);
  const latest = useRef(list);
  latest.current = list;
  useLayoutEffect(() => {
    if (!enabled) return;
    const listen = (event: KeyboardEvent) => {
      if (event.target instanceof Element && event.target.closest(own)) return;
      // Dialogs, such as the list of keys, cover the page.
      if (document.querySelector("dialog[open]")) return;
      const key = nameOf(event);
      // Who has come to a button by keys means that button; after a click Enter accepts.
      if (
        (key === "Enter" || key === " ") &&
        event.target instanceof Element &&
        event.target.closest(pressable)?.matches(":focus-visible")
      )
        return;
      const found = latest.current.find((each) => each.keys.includes(key));
      if (!found) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      found.run(event);
    };
    window.addEventListener("keydown", listen, true);
    return () => window.removeEventListener("keydown", listen, true);
  }, [enabled]);
}

export interface BenchKeyParts {
  bench: Bench;
  /** Answer the question about the selected segment with its n-th choice; false where there is none. */
  answer: (place: number) => boolean;
  onObject: () => void;
  onInstruction: () => void;
  onComment: () => void;
  onHandIn: () => void;
}

export function useBenchKeys({
  bench,
  answer,
  onObject,
  onInstruction,
  onComment,
  onHandIn,
}: BenchKeyParts): void {
  const { clock, segment, lane, canEdit } = bench;
  const labels: Key[] = [...labelKeys(lane)].map(([key, name]) => ({
    keys: [key],
    does: segment ? `Label as ${words(name)}` : `Begin ${words(name)} at this picture`,
    run: () => setLabel(bench, name),
  }));
  useKeysFirst(`Labels of ${lane.title}`, labels, canEdit);
  useKeysFirst(
    "Answer",
    [1, 2, 3, 4, 5, 6, 7, 8, 9].map((digit) => ({
      keys: [String(digit)],
      does: `Answer ${digit} to what is asked of the segment`,
      run: () => void answer(digit - 1),
    })),
    canEdit && answerable(bench),
  );
  // A letter that the taxonomy gives to a label does nothing else.
  const taken = new Set(labels.flatMap((each) => each.keys));
  const free = (list: Key[]) =>
    canEdit
      ? list
          .map((each) => ({ ...each, keys: each.keys.filter((key) => !taken.has(key)) }))
          .filter((each) => each.keys.length)
      : list;
  useKeysFirst("Change", free(changes(bench, onHandIn)), canEdit);
  useKeysFirst(
    "Look",
    free([
      { keys: ["ArrowDown", "n"], does: "Next boundary", run: () => goTo(bench, 1) },
      { keys: ["ArrowUp", "p"], does: "Previous boundary", run: () => goTo(bench, -1) },
      { keys: [" "], does: "Play or pause", run: () => clock.toggle() },
      { keys: [","], does: "Previous frame, whatever is selected", run: () => clock.step(-1) },
      { keys: ["."], does: "Next frame, whatever is selected", run: () => clock.step(1) },
      { keys: [";"], does: "Previous event", run: () => toEvent(bench, -1) },
      { keys: ["'"], does: "Next event", run: () => toEvent(bench, 1) },
      { keys: ["Shift+ArrowDown"], does: "Work in the next lane", run: () => changeLane(bench, 1) },
      {
        keys: ["Shift+ArrowUp"],
        does: "Work in the lane before",
        run: () => changeLane(bench, -1),
      },
      {
        keys: ["Home"],
        does: "To the first picture",
        run: () => showMoment(clock, bench.line.firstNs),
      },
      {
        keys: ["End"],
        does: "To the last picture",
        run: () => showMoment(clock, bench.line.timeOf(bench.line.count - 1)),
      },
      { keys: ["o", "Alt+o"], does: "Name the object", run: onObject },
      { keys: ["i", "Alt+i"], does: "Write an instruction", run: onInstruction },
      { keys: ["c", "Alt+c"], does: "Write a comment at this picture", run: onComment },
    ]),
    true,
  );
  const step: Key[] = [
    { keys: ["ArrowLeft"], does: "Previous frame", run: () => clock.step(-1) },
    { keys: ["ArrowRight"], does: "Next frame", run: () => clock.step(1) },
  ];
  useKeysFirst("Look", step, segment === null || !canEdit);
  useKeysFirst(
    "Look",
    [{ keys: ["Escape"], does: "Select nothing", run: () => bench.select(null) }],
    segment !== null,
  );
}

function answerable({ segment, taxonomy }: Bench): boolean {
  if (!segment) return false;
  const lane = taxonomy.lanes.find((each) => each.name === segment.lane);
  return Boolean(lane?.labels.find((each) => each.name === segment.label)?.attributes.length);
}

function changes(bench: Bench, onHandIn: () => void): Key[] {
  const nudges: Key[] = [
    { keys: ["ArrowLeft"], does: "Boundary one frame earlier", run: () => nudge(bench, -1) },
    { keys: ["ArrowRight"], does: "Boundary one frame later", run: () => nudge(bench, 1) },
    {
      keys: ["Shift+ArrowLeft"],
      does: "Boundary ten frames earlier",
      run: () => nudge(bench, -10),
    },
    { keys: ["Shift+ArrowRight"], does: "Boundary ten frames later", run: () => nudge(bench, 10) },
    { keys: ["e", "="], does: "Boundary to the nearest event", run: () => snapToEvent(bench) },
    {
      keys: ["Backspace", "Delete"],
      does: "Delete it; its neighbour fills the gap",
      run: () => removeSelected(bench),
    },
    { keys: ["m", "\\"], does: "Merge it with the next", run: () => mergeOn(bench) },
  ];
  return [
    {
      keys: ["Enter"],
      does: "Accept, and go to the next that is not confirmed",
      run: () => accept(bench),
    },
    ...(bench.segment ? nudges : []),
    { keys: ["x", "/"], does: "Split at this picture", run: () => splitHere(bench) },
    { keys: ["u", "Ctrl+z"], does: "Undo", run: () => void bench.book.undo() },
    {
      keys: ["Shift+u", "Ctrl+Shift+z"],
      does: "Redo",
      run: () => void bench.book.redo(),
    },
    { keys: ["Ctrl+Enter"], does: "Submit", run: onHandIn },
  ];
}
