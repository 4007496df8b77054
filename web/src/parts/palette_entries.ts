// What the palette offers besides episodes: pages, actions of the page that is open, settings.
import { listShortcuts } from "./shortcuts";

export interface Entry {
  kind: "page" | "action" | "setting" | "saved view" | "episode" | "search";
  title: string;
  /** The key that does the same. */
  keys?: string;
  run: () => void;
}

/** The entries of which every word begins a word, those that begin so first. */
export function matching(entries: Entry[], text: string): Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return entries;
  const rank = ({ title, kind }: Entry) => {
    const whole = `${title} ${kind}`.toLowerCase();
    const parts = whole.split(/[^\p{L}\p{N}]+/u);
    if (!words.every((word) => parts.some((part) => part.startsWith(word)))) return null;
    return whole.startsWith(words[0] ?? "") ? 0 : 1;
  };
  return entries
    .flatMap((entry) => {
      const found = rank(entry);
      return found === null ? [] : [{ entry, found }];
    })
    .sort((a, b) => a.found - b.found)
    .map(({ entry }) => entry);
}

// What only makes sense as a key: steps, and what the palette has under another name.
const elsewhere = new Set(["Everywhere"]);

/** What the keys of the open page do, so that nobody has to know them. */
export function pageActions(): Entry[] {
  const seen = new Set<string>();
  return [...listShortcuts()].reverse().flatMap(({ keys, does, section, run }) => {
    const [key] = keys;
    if (elsewhere.has(section) || seen.has(does) || !key) return [];
    seen.add(does);
    const press = () => run(new KeyboardEvent("keydown", { key: key.split("+").pop() ?? key }));
    return [{ kind: "action", title: does, keys: key === " " ? "Space" : key, run: press }];
  });
}

const mostButtons = 60;
const longestButton = 40;

/** What the open page has buttons for: sharing, comparing, acting. */
export function pageButtons(): Entry[] {
  const seen = new Set<string>();
  const buttons = document.querySelectorAll<HTMLButtonElement>("main button:not(:disabled)");
  return [...buttons].slice(0, 400).flatMap((button) => {
    const said = button.getAttribute("aria-label") ?? wordsOf(button);
    const title =
      said
        .replace(/^[^\p{L}\p{N}]+/u, "")
        .split("\n")[0]
        ?.trim() ?? "";
    const isWord = title.length > 2 && title.length <= longestButton && /\p{L}{3}/u.test(title);
    if (!isWord || seen.has(title) || seen.size >= mostButtons) return [];
    seen.add(title);
    return [{ kind: "action", title, run: () => button.click() }];
  });
}

/** What is written on a button, without the key that is drawn on it. */
function wordsOf(button: HTMLElement): string {
  const parts = [...button.childNodes].filter(({ nodeName }) => nodeName !== "KBD");
  return parts.map(({ textContent }) => textContent?.trim() ?? "").join(" ");
}
