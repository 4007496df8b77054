// One plot at work: fetches what its window needs, draws it when it can be seen, reads values off.
import type { EpisodeDetail, SampleFacts } from "../api/schema";
import { getSample, type Trace } from "../api/signal";
import { frameAt } from "../player/clock";
import { columnNames } from "./column_groups";
import { drawPicture, type Inks, type Line, type Mark } from "./draw";
import { SignalLoader } from "./loader";
import type { Panel } from "./panels";
import { forget, redraw } from "./redraw";
import { padded, rangeOf } from "./scale";
import type { ViewWindow } from "./window";

export interface Look {
  /** The column and the place of its colour. */
  columns: { column: number; ink: number }[];
  showsCommands: boolean;
  /** Whether the difference is drawn instead of both. */
  showsError: boolean;
  marks: Mark[];
  limits: number[];
  inks: Inks;
}

/** A value read off at a time; `isExact` is false where only extremes are at hand. */
export interface Reading {
  low: number;
  high: number;
  isExact: boolean;
}

export class Painter {
  readonly measured: SignalLoader;
  readonly commanded: SignalLoader | null;
  private difference: SignalLoader | null = null;
  private look: Look | null = null;
  private isSeen = false;
  private isStale = true;
  private exact: { key: string; facts: Record<Told, SampleFacts | null> } | null = null;
  private readonly stops: (() => void)[];

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly episode: EpisodeDetail,
    readonly panel: Panel,
    private readonly view: ViewWindow,
    private readonly onLoaded: () => void,
  ) {
    this.measured = this.loader(panel.stream.path);
    this.commanded = panel.commanded && this.loader(panel.commanded.path);
    const size = new ResizeObserver(() => this.change());
    size.observe(canvas);
    const sight = new IntersectionObserver(
      (entries) => {
        this.isSeen = entries.some((each) => each.isIntersecting);
        if (this.isSeen && this.isStale) this.change();
      },
      { rootMargin: "120px" },
    );
    sight.observe(canvas);
    const back = (event: Event) => {
      if ((event as CustomEvent<boolean>).detail) this.retry();
    };
    window.addEventListener("studio:reachable", back);
    this.stops = [
      view.subscribe(() => this.change()),
      () => size.disconnect(),
      () => sight.disconnect(),
      () => window.removeEventListener("studio:reachable", back),
    ];
  }

  get error(): Error | null {
    return this.measured.error ?? this.commanded?.error ?? this.difference?.error ?? null;
  }

  retry(): void {
    this.measured.retry();
    this.commanded?.retry();
    this.difference?.retry();
    this.onLoaded();
  }

  show(look: Look): void {
    this.look = look;
    if (look.showsError && this.commanded)
      this.difference ??= this.loader(this.panel.stream.path, this.commanded.stream);
    this.change();
  }

  /** The traces at hand for the window of the moment. */
  traces(): Record<Told, Trace | null> {
    const columns = this.columns();
    return {
      measured: this.measured.best(columns, this.view),
      commanded: this.commanded?.best(columns, this.view) ?? null,
    };
  }

  read(column: number, timeNs: number, of: Told | "error"): Reading | null {
    if (of === "error")
      return difference(
        this.read(column, timeNs, "commanded"),
        this.read(column, timeNs, "measured"),
      );
    const known = this.exact?.key === this.exactKey(timeNs) ? this.exact.facts[of] : null;
    const value = known?.values[column];
    if (value !== undefined && value !== null) return { low: value, high: value, isExact: true };
    const trace = this.traces()[of];
    return trace && readingOf(trace, column, timeNs);
  }

  /** Ask the file itself for the values at a time, where the plot holds only extremes. */
  async readExactly(timeNs: number, signal: AbortSignal): Promise<void> {
    const traces = this.traces();
    if (!this.isSeen) return;
    const ask = (of: Told, path: string | undefined) =>
      path && traces[of] && !traces[of].isSamples
        ? getSample(this.episode.id, path, timeNs, signal)
        : null;
    const [measured, commanded] = await Promise.all([
      ask("measured", this.panel.stream.path),
      ask("commanded", this.panel.commanded?.path),
    ]);
    if (measured || commanded)
      this.exact = { key: this.exactKey(timeNs), facts: { measured, commanded } };
  }

  close(): void {
    for (const stop of this.stops) stop();
    forget(this.paint);
    this.measured.close();
    this.commanded?.close();
    this.difference?.close();
  }

  private loader(path: string, against?: string): SignalLoader {
    const every = columnNames(this.panel.stream)
      .map((_, place) => place)
      .slice(0, 64);
    const span = {
      startNs: this.episode.start_ns,
      endNs: Math.max(this.episode.end_ns, this.episode.start_ns + 1),
    };
    const told = () => {
      this.change();
      this.onLoaded();
    };
    return new SignalLoader(this.episode.id, path, every, span, told, against);
  }

  private exactKey(timeNs: number): string {
    return String(Math.round(timeNs));
  }

  private columns(): number[] {
    return this.look?.columns.map((each) => each.column) ?? [];
  }

  private change(): void {
    this.isStale = true;
    if (!this.isSeen || !this.look) return;
    const span = { startNs: this.view.startNs, endNs: this.view.endNs };
    this.measured.want(this.columns(), span);
    if (this.look.showsCommands) this.commanded?.want(this.columns(), span);
    if (this.look.showsError) this.difference?.want(this.columns(), span);
    redraw(this.paint);
  }

  private paint = (): void => {
    const { look, view } = this;
    if (!look) return;
    this.isStale = false;
    const { measured, commanded } = this.traces();
    const error = this.difference?.best(this.columns(), view) ?? null;
    const shown = look.showsError
      ? [error]
      : look.showsCommands
        ? [measured, commanded]
        : [measured];
    const lines: Line[] = [];
    let range = null;
    for (const trace of shown) {
      if (!trace) continue;
      const found = rangeOf(trace, this.columns(), view.startNs, view.endNs);
      if (found)
        range = range
          ? { low: Math.min(range.low, found.low), high: Math.max(range.high, found.high) }
          : found;
      for (const { column, ink } of look.columns) {
        lines.push({
          trace,
          column,
          ink: look.inks.lines[ink % look.inks.lines.length] as string,
          isDashed: !look.showsError && trace === commanded,
        });
      }
    }
    drawPicture(
      this.canvas,
      {
        startNs: view.startNs,
        endNs: view.endNs,
        range: range && padded(range),
        lines,
        marks: look.marks,
        // Limits are of the values, and zero is where an error should be.
        limits: look.showsError ? [] : look.limits,
        zero: look.showsError,
      },
      look.inks,
    );
  };
}

type Told = "measured" | "commanded";

/** One reading less another, as far as they are known. */
function difference(from: Reading | null, less: Reading | null): Reading | null {
  if (!from || !less) return null;
  const isExact = from.isExact && less.isExact;
  return { low: from.low - less.high, high: from.high - less.low, isExact };
}

/** The value that holds at a time: of the last sample not after it. */
export function readingOf(trace: Trace, column: number, timeNs: number): Reading | null {
  const place = frameAt(trace.time, timeNs);
  const low = trace.low.get(column)?.[place];
  const high = trace.high.get(column)?.[place];
  if (place < 0 || low === undefined || high === undefined) return null;
  return { low, high, isExact: trace.isSamples };
}
