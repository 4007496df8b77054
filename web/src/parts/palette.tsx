import { type KeyboardEvent as KeyPress, useEffect, useMemo, useState } from "react";
import { getRows, getViews } from "../api/episodes";
import { findByName, nameOf } from "../api/names";
import { useAnswer } from "../api/use_answer";
import { Dialog } from "./dialog";
import { type Entry, matching } from "./palette_entries";
import { go } from "./router";
import "./palette.css";

const restMs = 120;
const mostEpisodes = 6;
const mostShown = 14;

/** Everything that can be reached or done from here, by a few letters: Ctrl+K. */
export function Palette({ entries, onClose }: { entries: Entry[]; onClose: () => void }) {
  const [text, setText] = useState("");
  const [place, setPlace] = useState(0);
  const episodes = useEpisodes(text);
  const views = useAnswer((signal) => getViews("episodes", signal), []);
  const shown = useMemo(() => {
    const saved = (views.value ?? []).map((view): Entry => {
      const { order, layout } = view.look;
      const values = new URLSearchParams({ query: view.query, order });
      if (layout === "grid") values.set("view", "grid");
      return { kind: "saved view", title: view.name, run: () => go(`/episodes?${values}`) };
    });
    const search: Entry[] = text.trim()
      ? [
          {
            kind: "search",
            title: `Episodes with “${text.trim()}”`,
            run: () => go(`/episodes?query=${encodeURIComponent(text.trim())}`),
          },
        ]
      : [];
    const found = matching([...entries, ...saved], text);
    return [...found.slice(0, mostShown - episodes.length), ...episodes, ...search];
  }, [entries, views.value, episodes, text]);
  const current = Math.min(place, shown.length - 1);
  const take = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    // What a key does on the page expects that no dialog covers it.
    setTimeout(entry.run);
  };
  const press = (event: KeyPress) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setPlace((current + step + shown.length) % Math.max(shown.length, 1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      take(shown[current]);
    }
  };
  useEffect(() => {
    document.getElementById(`palette-${current}`)?.scrollIntoView({ block: "nearest" });
  }, [current]);
  return (
    <Dialog title="Go to, or do" onClose={onClose}>
      <div className="palette">
        <input
          type="text"
          role="combobox"
          aria-label="Episode, page, saved view, action or setting"
          aria-expanded
          aria-controls="palette-list"
          aria-activedescendant={shown.length ? `palette-${current}` : undefined}
          placeholder="Episode by number or word, page, saved view, action, setting"
          autoComplete="off"
          spellCheck={false}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setPlace(0);
          }}
          onKeyDown={press}
        />
        <div id="palette-list" role="listbox" aria-label="Found" className="palette-list">
          {shown.map((entry, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: keys go to the line above, which names the chosen one
            <div
              key={`${entry.kind} ${entry.title} ${entry.keys ?? ""}`}
              id={`palette-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === current}
              onClick={() => take(entry)}
              onPointerMove={() => setPlace(index)}
            >
              <span>{entry.title}</span>
              <span className="muted">
                {entry.kind} {entry.keys && <kbd>{entry.keys}</kbd>}
              </span>
            </div>
          ))}
        </div>
        {!shown.length && <p className="muted">Nothing of that name.</p>}
      </div>
    </Dialog>
  );
}

/** Episodes by their number, or by words; those of an older question are never shown. */
function useEpisodes(text: string): Entry[] {
  const [asked, setAsked] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text.trim()), restMs);
    return () => clearTimeout(timer);
  }, [text]);
  const found = useAnswer(
    async (signal) => ({ of: asked, list: await ask(asked, signal) }),
    [asked],
  );
  return found.value?.of === text.trim() ? found.value.list : noEntries;
}

const noEntries: Entry[] = [];

async function ask(text: string, signal: AbortSignal): Promise<Entry[]> {
  if (!text) return noEntries;
  const open = (id: string, title: string): Entry => ({
    kind: "episode",
    title,
    run: () => go(`/episodes/${encodeURIComponent(id)}`),
  });
  const number = /^#?\d+$/.test(text) ? text.replace("#", "") : null;
  const [named, rows] = await Promise.all([
    number ? findByName(number, signal).catch(() => null) : null,
    // What is no query, or finds nothing, is no fault here.
    number ? null : getRows(text, "-recorded", undefined, mostEpisodes, signal).catch(() => null),
  ]);
  if (named) return [open(named.id, `Episode ${nameOf(named)}`)];
  return (rows?.rows ?? []).map((row) =>
    open(
      row.id,
      [`Episode ${nameOf(row)}`, row.instruction ?? row.task, row.operator]
        .filter(Boolean)
        .join(" · "),
    ),
  );
}
