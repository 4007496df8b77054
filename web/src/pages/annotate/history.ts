// Undo without end: what was done and undone is read from the edits themselves, so that it is
// there again after a reload, on another machine, or when somebody else goes on.
import type { Step } from "../../api/annotation";
import type { Annotation, Edit } from "../../api/schema";
import { apply, inverse } from "./edit";

export interface History {
  content: Annotation;
  /** Steps that take back each thing done, the latest last. */
  done: readonly Step[][];
  /** Steps that do again each thing undone, the latest last. */
  undone: readonly Step[][];
}

export function begin(content: Annotation): History {
  return { content, done: [], undone: [] };
}

export function advance(history: History, edit: Pick<Edit, "action" | "steps">): History {
  const back = inverse(history.content, edit);
  const content = apply(history.content, edit);
  const { done, undone } = history;
  if (edit.action === "undo")
    return { content, done: done.slice(0, -1), undone: [...undone, back] };
  if (edit.action === "redo")
    return { content, done: [...done, back], undone: undone.slice(0, -1) };
  return { content, done: [...done, back], undone: [] };
}
