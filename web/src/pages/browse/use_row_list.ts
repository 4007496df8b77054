import { useMemo, useRef, useState, useSyncExternalStore } from "react";
import { watchMarks } from "../../api/marks";
import { RowList } from "./row_list";

// Kept beyond the page, so that Back shows the list as it was, at once.
const recent = new Map<string, RowList>();
const keptLists = 6;
const freshMs = 120_000;

// Verdicts and tags were changed, here or on the page of an episode.
watchMarks(() => recent.clear());

interface Shown {
  list: RowList;
  /** Fulfilled when the first rows of what was asked for are there. */
  begin: Promise<void>;
  turn: number;
  refresh: () => void;
}

/** The list of a query in an order; while it is shown it changes only when `refresh` is called, which `turn` counts. */
export function useRowList(query: string, order: string): Shown {
  const [turn, setTurn] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a refresh takes the list anew
  const list = useMemo(() => take(query, order), [query, order, turn]);
  useSyncExternalStore(list.subscribe, () => list.version);
  const refresh = () => {
    recent.clear();
    setTurn((last) => last + 1);
  };
  // The old rows stay until there are new ones: nothing flickers while a query is written.
  const ready = useRef(list);
  if (list.isReady || list.error) ready.current = list;
  return { list: ready.current, begin: list.begin, turn, refresh };
}

/** Ask for the first rows while the page itself is still being put together. */
export function prefetchRows(query: string, order: string): void {
  take(query, order);
}

function take(query: string, order: string): RowList {
  const key = JSON.stringify([query, order]);
  const held = recent.get(key);
  const isGood = held && !held.error && Date.now() - held.begun < freshMs;
  const list = isGood ? held : new RowList(query, order);
  recent.delete(key);
  recent.set(key, list);
  for (const old of recent.keys()) {
    if (recent.size <= keptLists) break;
    recent.delete(old);
  }
  return list;
}
