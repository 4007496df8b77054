// Text that is being written: kept with every keystroke, made an edit at every pause. So a window
// that is closed in the middle of a word has lost nothing of it.
import { useEffect, useRef, useState } from "react";
import { newId } from "./workbook";

const pauseMs = 600;

function nameOf(task: string, id: string): string {
  return `studio:annotate-draft:${task}:${id}`;
}

/** A text with the id of what it will become: after a crash the browser may still have the draft
 * of something that was made, and making it again would double it. */
export interface NewDraft {
  id: string;
  text: string;
}

export function keptNewDraft(task: string, name: string): NewDraft | null {
  const kept = keptDraft(task, name);
  if (kept === null) return null;
  try {
    const draft = JSON.parse(kept) as Partial<NewDraft> | null;
    if (typeof draft?.id === "string" && typeof draft.text === "string")
      return { id: draft.id, text: draft.text };
  } catch {
    // Kept by an earlier version of the page: the text alone.
  }
  return { id: newId(), text: kept };
}

export function keepNewDraft(task: string, name: string, draft: NewDraft): void {
  keepDraft(task, name, draft.text ? JSON.stringify(draft) : null);
}

export function keptDraft(task: string, id: string): string | null {
  try {
    return localStorage.getItem(nameOf(task, id));
  } catch {
    return null;
  }
}

export function keepDraft(task: string, id: string, text: string | null): void {
  try {
    if (text === null) localStorage.removeItem(nameOf(task, id));
    else localStorage.setItem(nameOf(task, id), text);
  } catch {
    // A browser without room for it keeps what is saved at the next pause.
  }
}

interface ChangeDraft {
  /** What the text was before. A draft of another text was saved, or was overtaken. */
  from: string;
  text: string;
}

function keptChange(task: string, id: string, saved: string): string | null {
  try {
    const draft = JSON.parse(keptDraft(task, id) ?? "null") as Partial<ChangeDraft> | null;
    return draft?.from === saved && typeof draft.text === "string" ? draft.text : null;
  } catch {
    return null;
  }
}

/** A text field's value; `save` is called at every pause and when the field is left. */
export function useDraft(task: string, id: string, saved: string, save: (text: string) => void) {
  const [text, setText] = useState(() => keptChange(task, id, saved) ?? saved);
  const timer = useRef(0);
  const latest = useRef({ save, saved, text });
  latest.current = { save, saved, text };
  const commit = () => {
    clearTimeout(timer.current);
    const now = latest.current;
    if (now.text !== now.saved) now.save(now.text);
    keepDraft(task, id, null);
  };
  useEffect(() => {
    // Undo, or another window, has changed it.
    if (keptDraft(task, id) === null) setText(saved);
  }, [task, id, saved]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once when the field appears, and once when it goes
  useEffect(() => {
    // Left over from a window that was closed while somebody wrote.
    if (keptDraft(task, id) !== null) commit();
    return () => {
      if (keptDraft(task, id) !== null) commit();
    };
  }, []);
  const write = (next: string) => {
    latest.current.text = next;
    setText(next);
    const draft: ChangeDraft = { from: latest.current.saved, text: next };
    keepDraft(task, id, JSON.stringify(draft));
    clearTimeout(timer.current);
    timer.current = window.setTimeout(commit, pauseMs);
  };
  return { text, write, commit };
}
