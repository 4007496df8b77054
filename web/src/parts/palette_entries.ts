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
