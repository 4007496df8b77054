// The episodes of one query in one order. Only the pages that are looked at are fetched; the
// landmarks make a page in the middle as near as the first.

import { StudioError } from "../../api/client";
import { getLandmarks, getRows } from "../../api/episodes";
import type { ListedEpisode } from "../../api/schema";

const step = 100;
const keptPages = 60;
const againMs = 2000;

export class RowList {
  total: number | null = null;
  error: Error | null = null;
  version = 0;
  readonly begun = Date.now();
  /** Fulfilled when the first rows are there, or refused. */
  readonly begin: Promise<void>;
  private marks: string[] | null = null;
  private readonly pages = new Map<number, ListedEpisode[]>();
  private readonly asked = new Map<number, AbortController>();
  private readonly listeners = new Set<() => void>();

  constructor(
    readonly query: string,
    readonly order: string,
  ) {
    // Rows first: what takes the server longer may wait until there is something to look at.
    this.begin = this.fetchPage(0);
    void this.begin.then(() => (this.total === null ? this.fetchMarks() : undefined));
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  row(number: number): ListedEpisode | undefined {
    return this.pages.get(Math.floor(number / step))?.[number % step];
  }

  /** How many rows there are, as far as is known yet. */
  get known(): number {
    return this.total ?? this.pages.get(0)?.length ?? 0;
  }

  get isReady(): boolean {
    return this.pages.has(0) || this.total === 0;
  }

  /** Fetch what is missing between two rows, and stop fetching what has scrolled away. */
  want(first: number, last: number): void {
    // What was refused once is refused again, until the list is loaded anew.
    if (this.error) return;
    const low = Math.floor(Math.max(0, first) / step);
    const high = Math.floor(Math.min(last, Math.max(0, this.known - 1)) / step);
    for (const [page, control] of this.asked) {
      if (page !== 0 && (page < low || page > high)) control.abort();
    }
    for (let page = low; page <= high; page += 1) void this.fetchPage(page);
  }

  /** The row with this id among those that were fetched, or -1. */
  placeOf(id: string): number {
    for (const [page, rows] of this.pages) {
      const found = rows.findIndex((row) => row.id === id);
      if (found >= 0) return page * step + found;
    }
    return -1;
  }

  private async fetchMarks(): Promise<void> {
    try {
      const { total, ids } = await getLandmarks(this.query, this.order);
      this.marks = ids;
      this.total = total;
      this.tell();
    } catch (error) {
      this.fail(error, () => void this.fetchMarks());
    }
  }

  private async fetchPage(page: number): Promise<void> {
    const after = page === 0 ? undefined : this.marks?.[page - 1];
    if (this.pages.has(page) || this.asked.has(page) || (page > 0 && after === undefined)) return;
    const control = new AbortController();
    this.asked.set(page, control);
    try {
      const found = await getRows(this.query, this.order, after, step, control.signal);
      this.keep(page, found.rows);
      if (page === 0 && found.after === null) this.total = found.rows.length;
      this.error = null;
    } catch (error) {
      if (!control.signal.aborted) this.fail(error, () => void this.fetchPage(page));
    } finally {
      this.asked.delete(page);
      this.tell();
    }
  }

  private keep(page: number, rows: ListedEpisode[]): void {
    this.pages.set(page, rows);
    for (const old of this.pages.keys()) {
      if (this.pages.size <= keptPages) return;
      if (old !== 0 && Math.abs(old - page) > 3) this.pages.delete(old);
    }
  }

  /** A server that is away is asked again; what it refuses stays refused. */
  private fail(error: unknown, again: () => void): void {
    const said = error instanceof Error ? error : new Error(String(error));
    if (said instanceof StudioError && said.status === 0) setTimeout(again, againMs);
    else this.error = said;
    this.tell();
  }

  private tell(): void {
    this.version += 1;
    for (const listener of this.listeners) listener();
  }
}
