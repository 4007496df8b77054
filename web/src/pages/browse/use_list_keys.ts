import type { RefObject } from "react";
import type { Layout } from "../../api/episodes";
import type { ListedEpisode } from "../../api/schema";
import { go } from "../../parts/router";
import { useShortcuts } from "../../parts/shortcuts";
import type { ListControl } from "./episode_list";
import type { RowList } from "./row_list";

interface Keys {
  list: RowList;
  layout: Layout;
  current: number;
  setCurrent: (place: number) => void;
  control: RefObject<ListControl | null>;
  select: (row: ListedEpisode) => void;
  compare: () => void;
  clear: () => void;
  refresh: () => void;
  focusQuery: () => void;
  switchLayout: () => void;
  openViews: () => void;
}

/** The list by keyboard alone. */
export function useListKeys(keys: Keys): void {
  const { list, current, control } = keys;
  const to = (place: number) => {
    const wanted = Math.min(Math.max(place, 0), Math.max(0, list.known - 1));
    keys.setCurrent(wanted);
    control.current?.show(wanted);
  };
  const line = () => control.current?.perLine ?? 1;
  const page = () => control.current?.perPage ?? 10;
  const row = list.row(current);
  useShortcuts("Episodes", [
    {
      keys: ["j", "ArrowDown"],
      does: "Next episode",
      run: (event) => to(current + (event.key === "j" ? 1 : line())),
    },
    {
      keys: ["k", "ArrowUp"],
      does: "Previous episode",
      run: (event) => to(current - (event.key === "k" ? 1 : line())),
    },
    {
      keys: ["ArrowRight"],
      does: "Next picture",
      run: () => keys.layout === "grid" && to(current + 1),
    },
    {
      keys: ["ArrowLeft"],
      does: "Previous picture",
      run: () => keys.layout === "grid" && to(current - 1),
    },
    { keys: ["PageDown"], does: "A page on", run: () => to(current + page()) },
    { keys: ["PageUp"], does: "A page back", run: () => to(current - page()) },
    { keys: ["Home"], does: "To the first", run: () => to(0) },
    { keys: ["End"], does: "To the last", run: () => to(list.known - 1) },
    {
      keys: ["Enter", "o"],
      does: "Open it",
      run: () => row && go(`/episodes/${encodeURIComponent(row.id)}`),
    },
    { keys: ["x"], does: "Select it", run: () => row && keys.select(row) },
    { keys: ["c"], does: "Compare those that are selected", run: keys.compare },
    { keys: ["Escape"], does: "Select none", run: keys.clear },
    { keys: ["/"], does: "Write a query", run: keys.focusQuery },
    { keys: ["v"], does: "Table or pictures", run: keys.switchLayout },
    { keys: ["w"], does: "Saved views", run: keys.openViews },
    { keys: ["r"], does: "Refresh", run: keys.refresh },
  ]);
}
