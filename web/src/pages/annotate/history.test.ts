import { expect, test } from "vitest";
import type { Annotation, Edit } from "../../api/schema";
import given from "./edit_cases.json";
import { advance, begin, type History } from "./history";

const blank = given.blank as unknown as Annotation;
const say = (text: string): Pick<Edit, "action" | "steps"> => ({
  action: "type",
  steps: [{ put: { id: "i1", text, language: "en", source: "person" } }],
});
const undo = (now: History) => advance(now, { action: "undo", steps: now.done.at(-1) ?? [] });
const redo = (now: History) => advance(now, { action: "redo", steps: now.undone.at(-1) ?? [] });
const text = (now: History) => now.content.instructions[0]?.text ?? null;

test("everything can be undone and done again, in order", () => {
  let now = ["a", "b", "c"].map(say).reduce(advance, begin(blank));
  const seen = [text(now)];
  for (let step = 0; step < 3; step += 1) {
    now = undo(now);
    seen.push(text(now));
  }
  for (let step = 0; step < 3; step += 1) {
    now = redo(now);
    seen.push(text(now));
  }
  expect(seen).toEqual(["c", "b", "a", null, "a", "b", "c"]);
  expect(now.undone).toEqual([]);
});

test("something new after an undo ends what could be done again", () => {
  const now = advance(undo(["a", "b"].map(say).reduce(advance, begin(blank))), say("d"));
  expect(now.undone).toEqual([]);
  expect(text(undo(now))).toBe("a");
});

test("the history read from the edits is the one that was lived", () => {
  const edits: Pick<Edit, "action" | "steps">[] = [say("a"), say("b")];
  let now = edits.reduce(advance, begin(blank));
  edits.push({ action: "undo", steps: now.done.at(-1) ?? [] });
  now = undo(now);
  expect(edits.reduce(advance, begin(blank))).toEqual(now);
  expect(text(redo(edits.reduce(advance, begin(blank))))).toBe("b");
});
