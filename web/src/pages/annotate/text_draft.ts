// Text that is being written: kept with every keystroke, made an edit at every pause. So a window
// that is closed in the middle of a word has lost nothing of it.
import { useEffect, useRef, useState } from "react";

const pauseMs = 600;

function nameOf(task: string, id: string): string {
  return `studio:annotate-draft:${task}:${id}`;
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

/** A text field's value; `save` is called at every pause and when the field is left. */
export function useDraft(task: string, id: string, saved: string, save: (text: string) => void) {
  const [text, setText] = useState(() => keptDraft(task, id) ?? saved);
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
    keepDraft(task, id, next);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(commit, pauseMs);
  };
  return { text, write, commit };
}
