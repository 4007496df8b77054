// The list of episodes. What is shown is one query, one order and one layout, all in the address.
import { useEffect, useRef, useState } from "react";
import { StudioError } from "../../api/client";
import { getFacets, type Layout, type Refinement, refine } from "../../api/episodes";
import { watchMarks } from "../../api/marks";
import type { ListedEpisode } from "../../api/schema";
import { useSession } from "../../api/session";
import { useAnswer } from "../../api/use_answer";
import { lastListKey } from "../../parts/last_list";
import { Notice } from "../../parts/notice";
import { go } from "../../parts/router";
import { compareAddress, MOST_SIDES } from "../compare/sides";
import "./browse.css";
import { allowedColumns, columns, usualColumns } from "./columns";
import { ColumnsDialog } from "./columns_dialog";
import { EpisodeList, type ListControl } from "./episode_list";
import { FacetPanel } from "./facet_panel";
import { ListBar } from "./list_bar";
import { EmptyWorkspace, NoMatch, WrongQuery } from "./nothing_found";
import { QueryBox } from "./query_box";
import { QueryHelp } from "./query_help";
import { QuickFilters } from "./quick_filters";
import { SelectionBar } from "./selection_bar";
import { useListKeys } from "./use_list_keys";
import { prefetchRows, useRowList } from "./use_row_list";
import { storedPlace } from "./use_viewport";
import { ViewsDialog } from "./views_dialog";

type Open = "help" | "views" | "columns" | "filters" | null;
const usualOrder = "-recorded";

function asked(address: URL): { query: string; order: string } {
  return {
    query: address.searchParams.get("query") ?? "",
    order: address.searchParams.get("order") || usualOrder,
  };
}

const { pathname, search } = window.location;
if (pathname === "/episodes" || (pathname === "/" && search)) {
  const { query, order } = asked(new URL(window.location.href));
  prefetchRows(query, order);
}

export function Browse({ address }: { address: URL }) {
  const { query, order } = asked(address);
  const layout: Layout = address.searchParams.get("view") === "grid" ? "grid" : "table";
  const { list, begin, turn, refresh } = useRowList(query, order);
  const placeKey = JSON.stringify([list.query, list.order, layout]);
  const facets = useAnswer((signal) => begin.then(() => getFacets(query, signal)), [query, turn]);
  // The page of an episode steps through the list that one came from.
  useEffect(
    () => sessionStorage.setItem(lastListKey, JSON.stringify({ query, order })),
    [query, order],
  );
  const [open, setOpen] = useState<Open>(null);
  const [shown, setShown] = useColumns();
  const { sees_people } = useSession();
  const [selected, setSelected] = useState<ReadonlyMap<string, ListedEpisode>>(new Map());
  const [allOf, setAllOf] = useState<string | null>(null);
  const isAll = allOf === query && list.total !== null;
  const setAll = (is: boolean) => setAllOf(is ? query : null);
  const [current, setCurrent] = useCurrent(placeKey);
  // Rows that were selected are read anew with the list: their verdicts and tags have changed.
  useEffect(
    () =>
      watchMarks(() => {
        setSelected(new Map());
        setAllOf(null);
        refresh();
      }),
    [refresh],
  );
  const input = useRef<HTMLInputElement>(null);
  const control = useRef<ListControl | null>(null);
  const isTyped = useRef(false);

  const show = (next: { query?: string; order?: string; layout?: Layout }, replace = false) => {
    const url = new URL(window.location.href);
    const values = { query, order, layout, ...next };
    set(url, "query", values.query);
    set(url, "order", values.order === usualOrder ? "" : values.order);
    set(url, "view", values.layout === "grid" ? "grid" : "");
    if (url.href !== window.location.href) go(url.pathname + url.search, { replace });
  };
  const showQuery = (text: string) => {
    isTyped.current = false;
    show({ query: text });
  };
  const typeQuery = (text: string, isDone: boolean) => {
    // All letters of one query are one step of the history.
    show({ query: text }, isTyped.current);
    isTyped.current = !isDone;
  };
  const narrow = async (refinement: Refinement) => {
    try {
      showQuery(await refine(query, refinement));
    } catch {
      // A server that is away says so at the top of the page; a wrong query has its own line.
    }
  };
  const select = (row: ListedEpisode) => {
    setAll(false);
    const next = new Map(selected);
    if (!next.delete(row.id)) next.set(row.id, row);
    setSelected(next);
  };
  const clear = () => {
    setSelected(new Map());
    setAll(false);
  };
  const compare = () => {
    if (selected.size >= 2 && selected.size <= MOST_SIDES) go(compareAddress([...selected.keys()]));
  };
  useListKeys({
    list,
    layout,
    current,
    setCurrent,
    control,
    select,
    compare,
    refresh,
    focusQuery: () => input.current?.focus(),
    switchLayout: () => show({ layout: layout === "grid" ? "table" : "grid" }),
    openViews: () => setOpen("views"),
    clear,
  });
  const isEmpty = facets.value?.total === 0 && list.total === 0;
  const look = { page: "episodes" as const, order, layout, columns: shown, panels: null };
  return (
    <div className="browse">
      <h1 className="browse-title">Episodes</h1>
      <div className="browse-top">
        <QueryBox
          query={query}
          error={list.error}
          input={input}
          onQuery={typeQuery}
          onHelp={() => setOpen("help")}
        />
        <QuickFilters query={query} facets={facets.value} onQuery={showQuery} />
        <ListBar
          list={list}
          look={look}
          isFiltersOpen={open === "filters"}
          onLook={show}
          onOpen={(what) => setOpen(open === what ? null : what)}
          onRefresh={refresh}
        />
      </div>
      <div className={open === "filters" ? "browse-facets open" : "browse-facets"}>
        <FacetPanel
          facets={facets.value}
          query={query}
          onRefine={(refinement) => void narrow(refinement)}
        />
      </div>
      <div className="browse-list">
        {isEmpty ? (
          <EmptyWorkspace />
        ) : list.error ? (
          <Refused
            query={query}
            error={list.error}
            onAgain={refresh}
            onQuery={showQuery}
            onHelp={() => setOpen("help")}
          />
        ) : list.total === 0 && query ? (
          <NoMatch query={query} onQuery={showQuery} />
        ) : (
          <EpisodeList
            key={placeKey}
            list={list}
            layout={layout}
            columns={allowedColumns(sees_people).filter(({ name }) => shown.includes(name))}
            placeKey={placeKey}
            current={current}
            selected={selected}
            control={control}
            onOrder={(next) => show({ order: next })}
            onSelect={select}
            onTouch={setCurrent}
          />
        )}
        <SelectionBar
          selected={selected}
          current={list.row(current)}
          query={query}
          total={list.total}
          isAll={isAll}
          onAll={setAll}
          onCompare={compare}
          onClear={clear}
        />
      </div>
      {open === "help" && (
        <QueryHelp
          onClose={() => setOpen(null)}
          onTake={(text) => {
            setOpen(null);
            showQuery(text);
          }}
        />
      )}
      {open === "columns" && (
        <ColumnsDialog shown={shown} onChange={setShown} onClose={() => setOpen(null)} />
      )}
      {open === "views" && (
        <ViewsDialog
          query={query}
          look={look}
          onClose={() => setOpen(null)}
          onOpen={(view) => {
            setOpen(null);
            if (view.look.columns) setShown(view.look.columns);
            show({ query: view.query, order: view.look.order, layout: view.look.layout });
          }}
        />
      )}
    </div>
  );
}

function Refused(props: {
  query: string;
  error: Error;
  onAgain: () => void;
  onQuery: (query: string) => void;
  onHelp: () => void;
}) {
  if (props.error instanceof StudioError && props.error.status === 422)
    return <WrongQuery {...props} />;
  return <Notice error={props.error} again={props.onAgain} />;
}

function set(url: URL, name: string, value: string): void {
  if (value) url.searchParams.set(name, value);
  else url.searchParams.delete(name);
}

/** The row that keys act on; a list that was left is taken up at the same row. */
function useCurrent(key: string): [number, (place: number) => void] {
  const [held, setHeld] = useState({ key, place: storedPlace(key).at });
  useEffect(() => {
    if (held.key !== key) setHeld({ key, place: storedPlace(key).at });
  }, [key, held.key]);
  return [held.key === key ? held.place : 0, (place) => setHeld({ key, place })];
}

function useColumns(): [string[], (shown: string[]) => void] {
  const [shown, setShown] = useState<string[]>(() => {
    const names = (localStorage.getItem("studio.columns") ?? "").split(" ");
    const known = columns.map((column) => column.name).filter((name) => names.includes(name));
    return known.length ? known : usualColumns;
  });
  return [
    shown,
    (next) => {
      localStorage.setItem("studio.columns", next.join(" "));
      setShown(next);
    },
  ];
}
