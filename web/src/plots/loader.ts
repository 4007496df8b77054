// The samples of one stream for the window of the moment: the whole episode first, then what is
// looked at in detail. What is there is drawn until something finer has come.
import { getTrace, type Trace } from "../api/signal";

const POINTS = 4096;
const MOST_COLUMNS = 64;
const RESTS_MS = 40;
/** After a glimpse of a very long stream, until the rest of it is looked at. */
const AGAIN_MS = 300;

export interface Span {
  startNs: number;
  endNs: number;
}

/** Whether a trace shows a span as finely as it can be asked for. */
export function isFine(trace: Trace | null, span: Span): boolean {
  if (!trace || trace.facts.coarse || trace.startNs > span.startNs || trace.endNs < span.endNs)
    return false;
  return trace.isSamples || trace.endNs - trace.startNs <= 3.5 * (span.endNs - span.startNs);
}

/** What to ask for: the span and half of it on either side, so that small moves need nothing. */
export function askedSpan(span: Span, whole: Span): Span {
  const margin = (span.endNs - span.startNs) / 2;
  return {
    startNs: Math.max(span.startNs - margin, whole.startNs),
    endNs: Math.min(span.endNs + margin, whole.endNs),
  };
}

export class SignalLoader {
  whole: Trace | null = null;
  detail: Trace | null = null;
  error: Error | null = null;
  private columns: number[] = [];
  private wanted: Span | null = null;
  private control: AbortController | null = null;
  private timer = 0;
  private isClosed = false;

  constructor(
    private readonly id: string,
    readonly stream: string,
    /** Those of the first answer, so that another group of columns is there at once. */
    private readonly everyColumn: number[],
    private readonly all: Span,
    private readonly onChange: () => void,
    /** The commands, where their error is wanted. */
    private readonly against?: string,
  ) {}

  /** Have these columns and this span at hand as soon as possible. */
  want(columns: number[], span: Span): void {
    if (columns.join() !== this.columns.join()) {
      this.columns = columns;
      this.control?.abort();
      this.control = null;
      if (!hasAll(this.detail, columns)) this.detail = null;
    }
    this.wanted = span;
    this.next();
  }

  /** The finest trace that covers a span with these columns. */
  best(columns: number[], span: Span): Trace | null {
    const { detail, whole } = this;
    if (
      detail &&
      hasAll(detail, columns) &&
      detail.startNs <= span.startNs &&
      detail.endNs >= span.endNs
    )
      return detail;
    return whole;
  }

  retry(): void {
    this.error = null;
    this.next();
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.control?.abort();
  }

  private next(): void {
    if (this.control || this.isClosed || this.error) return;
    const missing = !hasAll(this.whole, this.columns);
    const span = this.wanted;
    if (missing) void this.fetch(this.all, true);
    else if (this.whole?.facts.coarse) this.later(() => void this.fetch(this.all, true), AGAIN_MS);
    else if (span && !isFine(this.whole, span) && !isFine(this.detail, span)) {
      // A wheel turns many times a second: ask for where it stops, or passes by slowly.
      this.later(() => {
        if (this.wanted) void this.fetch(askedSpan(this.wanted, this.all), false);
      }, RESTS_MS);
    }
  }

  private later(ask: () => void, waitMs: number): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      if (!this.control && !this.isClosed) ask();
    }, waitMs);
  }

  private async fetch(span: Span, isWhole: boolean): Promise<void> {
    const control = new AbortController();
    this.control = control;
    try {
      const columns = isWhole
        ? [...new Set([...this.everyColumn, ...this.columns])].slice(-MOST_COLUMNS)
        : this.columns;
      const wish = { stream: this.stream, against: this.against, columns, ...span, points: POINTS };
      const trace = await getTrace(this.id, wish, control.signal);
      if (control.signal.aborted) return;
      if (isWhole) this.whole = trace;
      else this.detail = trace;
    } catch (error) {
      if (control.signal.aborted) return;
      this.error = error instanceof Error ? error : new Error(String(error));
    }
    this.control = null;
    this.onChange();
    this.next();
  }
}

function hasAll(trace: Trace | null, columns: number[]): boolean {
  return trace !== null && columns.every((column) => trace.low.has(column));
}
