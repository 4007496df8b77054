// The list that the visitor came from, and the episodes beside this one in it.
import { getRows } from "../../api/episodes";
import { useAnswer } from "../../api/use_answer";
import { lastListKey } from "../../parts/last_list";

export interface LastList {
  query: string;
  order: string;
  /** The ids of the list, where its page has left them. */
  ids: string[];
}

export interface Neighbours {
  before: string | null;
  after: string | null;
  /** The number of the episode in the list; -1 where that is not known. */
  place: number;
}

const usualOrder = "-recorded";

/** As the page of the list leaves it in the session; the whole list for those who came by a link. */
export function lastList(): LastList {
  try {
    const said: unknown = JSON.parse(sessionStorage.getItem(lastListKey) ?? "null");
    const { query, order, ids } = (said && typeof said === "object" ? said : {}) as Record<
      string,
      unknown
    >;
    return {
      query: typeof query === "string" ? query : "",
      order: typeof order === "string" && order ? order : usualOrder,
      ids: Array.isArray(ids) ? ids.filter((each): each is string => typeof each === "string") : [],
    };
  } catch {
    return { query: "", order: usualOrder, ids: [] };
  }
}

/** The address of the list, with its query. */
export function listAddress({ query, order }: LastList): string {
  const params = new URLSearchParams();
  if (query) params.set("query", query);
  if (order !== usualOrder) params.set("order", order);
  const text = params.toString();
  return text ? `/episodes?${text}` : "/episodes";
}

/** The same list from its other end. */
export function reversed(order: string): string {
  return order.startsWith("-") ? order.slice(1) : `-${order}`;
}

/** The episodes before and after this one; none while they are not known, or not wanted. */
export function useNeighbours(list: LastList, id: string, isWanted: boolean): Neighbours {
  const place = list.ids.indexOf(id);
  const isListed = place >= 0;
  const asked = useAnswer(
    async (signal): Promise<Neighbours> => {
      if (isListed)
        return { before: list.ids[place - 1] ?? null, after: list.ids[place + 1] ?? null, place };
      if (!isWanted) return { before: null, after: null, place: -1 };
      const [before, after] = await Promise.all([
        beside(list.query, reversed(list.order), id, signal),
        beside(list.query, list.order, id, signal),
      ]);
      return { before, after, place: -1 };
    },
    [id, list.query, list.order, isWanted],
  );
  return asked.value ?? { before: null, after: null, place };
}

async function beside(
  query: string,
  order: string,
  id: string,
  signal: AbortSignal,
): Promise<string | null> {
  const { rows } = await getRows(query, order, id, 1, signal);
  return rows[0]?.id ?? null;
}
