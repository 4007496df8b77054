import { useLayoutEffect, useRef } from "react";

const OWN =
  "input:not([type=checkbox], [type=radio], [type=range]), textarea, select, [contenteditable=true], dialog";

/**
 * Keys that come before those of the player, whatever is mounted later: `a` accepts here, and
 * marks no loop. Where people write, they write.
 */
export function useFirstKeys(keys: Record<string, () => void>, enabled: boolean): void {
  const latest = useRef(keys);
  latest.current = keys;
  useLayoutEffect(() => {
    if (!enabled) return;
    const listen = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || event.repeat) return;
      if (event.target instanceof Element && event.target.closest(OWN)) return;
      // The list of keys and other dialogs cover the page.
      if (document.querySelector("dialog[open]")) return;
      const run = Object.hasOwn(latest.current, event.key) ? latest.current[event.key] : undefined;
      if (!run) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      run();
    };
    window.addEventListener("keydown", listen, true);
    return () => window.removeEventListener("keydown", listen, true);
  }, [enabled]);
}
