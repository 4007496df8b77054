// All keys of the page in one place, so that `?` can list what works where you are.
import { useLayoutEffect, useRef } from "react";

export interface Shortcut {
  /** As KeyboardEvent.key has it, with "Shift+", "Ctrl+" or "Alt+" before it: "ArrowRight", "Shift+ArrowRight", "?". */
  keys: string[];
  does: string;
  section: string;
  run: (event: KeyboardEvent) => void;
}

/** Works also where somebody is writing: it is no letter. */
export const paletteKey = "Ctrl+k";

const active: Shortcut[] = [];
const watchers = new Set<() => void>();

export function listShortcuts(): readonly Shortcut[] {
  return active;
}

export function watchShortcuts(listener: () => void): () => void {
  watchers.add(listener);
  return () => watchers.delete(listener);
}

function keyOf(event: KeyboardEvent): string {
  const parts = [];
  if (event.ctrlKey || event.metaKey) parts.push("Ctrl");
  if (event.altKey) parts.push("Alt");
  // A sign such as ? is written with Shift anyway; letters and arrows say it.
  if (event.shiftKey && (event.key.length > 1 || /[a-z]/i.test(event.key))) parts.push("Shift");
  parts.push(event.key.length === 1 ? event.key.toLowerCase() : event.key);
  return parts.join("+");
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  // Until a dialog that was closed is gone, its field still has the focus.
  if (target.closest("dialog:not([open])")) return false;
  if (target.isContentEditable) return true;
  if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  return (
    target instanceof HTMLInputElement &&
    !["checkbox", "radio", "button", "range"].includes(target.type)
  );
}

/** What a key does to the element it is pressed on comes before what it does to the page. */
function belongsTo(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (key === "Enter" || key === " ")
    return target.matches("button, a, summary, [role=button], [role=option], [role=tab]");
  return (
    key.startsWith("Arrow") &&
    target.matches("[role=slider], input[type=range], [data-own-arrows], [data-own-arrows] *")
  );
}

window.addEventListener("keydown", (event) => {
  if (event.defaultPrevented) return;
  // A dialog covers the page: no key of the page works behind it, and Escape closes it.
  if (document.querySelector("dialog[open]")) return;
  const key = keyOf(event);
  if (isTyping(event.target) && key !== "Escape" && key !== paletteKey) return;
  if (belongsTo(event.target, key)) return;
  // The newest comes first: a part of the page before the page.
  for (let place = active.length - 1; place >= 0; place -= 1) {
    const shortcut = active[place] as Shortcut;
    if (!shortcut.keys.includes(key)) continue;
    event.preventDefault();
    shortcut.run(event);
    return;
  }
});

/** Keys that work while the component is shown: from its first picture on, before anybody can press one. */
export function useShortcuts(
  section: string,
  list: Omit<Shortcut, "section">[],
  enabled = true,
): void {
  const latest = useRef(list);
  latest.current = list;
  const shape = list.map((each) => each.keys.join(" ") + each.does).join("\n");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list is new with every render, its shape is not
  useLayoutEffect(() => {
    if (!enabled) return;
    const mine = latest.current.map((each, place) => ({
      ...each,
      section,
      run: (event: KeyboardEvent) => latest.current[place]?.run(event),
    }));
    active.push(...mine);
    for (const listener of watchers) listener();
    return () => {
      for (const each of mine) active.splice(active.indexOf(each), 1);
      for (const listener of watchers) listener();
    };
  }, [section, shape, enabled]);
}
