// The samples of one stream around the clock, fetched in windows of time, the oldest forgotten:
// an hour of a robot at 1 kHz would not fit into the page.
import { getMotion, type Motion } from "../api/motion";
import { frameAt } from "../player/clock";

export interface Sample {
  /** The number of the sample in its stream; -1 before the first. */
  frame: number;
  timeNs: number;
  values: Float32Array;
}

interface Window {
  pieces: Motion[];
  state: "asked" | "ready" | "failed";
}

const second = 1e9;
const valuesWanted = 120_000;
const mostWindows = 16;
const retryMs = 2000;
const nothing = new Float32Array(0);

/** How long a window is, so that it takes one answer in most cases. */
export function windowNs(rateHz: number | null, width: number): number {
  const seconds = valuesWanted / ((rateHz ?? 100) * Math.max(width, 1));
  return Math.min(Math.max(seconds, 0.5), 20) * second;
}

/** The sample shown at a time: the last one not after it. */
export function sampleIn(pieces: readonly Motion[], timeNs: number): Sample {
  for (let place = pieces.length - 1; place >= 0; place -= 1) {
    const piece = pieces[place] as Motion;
    const row = frameAt(piece.timeNs, timeNs);
    if (row < 0 && place > 0) continue;
    if (row < 0) break;
    const values = piece.values.subarray(row * piece.width, (row + 1) * piece.width);
    return { frame: piece.first + row, timeNs: piece.timeNs[row] as number, values };
  }
  return { frame: -1, timeNs: Number.NaN, values: nothing };
}

export class MotionTrack {
  private readonly windows = new Map<number, Window>();
  private readonly control = new AbortController();
  private readonly lengthNs: number;
  private retry: ReturnType<typeof setTimeout> | undefined;
  /** Why samples are missing, in the server's words; null when all is well. */
  error: Error | null = null;

  constructor(
    private readonly id: string,
    readonly stream: string,
    rateHz: number | null,
    width: number,
    private readonly onArrival: () => void,
    private readonly endNs = Number.POSITIVE_INFINITY,
  ) {
    this.lengthNs = windowNs(rateHz, width);
  }

  /** The sample at a time; null while it is on its way. */
  at(timeNs: number): Sample | null {
    const number = Math.floor(timeNs / this.lengthNs);
    const window = this.need(number);
    const rest = (number + 1) * this.lengthNs - timeNs;
    if (rest < 0.4 * this.lengthNs && timeNs + rest <= this.endNs) this.need(number + 1);
    return window.state === "ready" ? sampleIn(window.pieces, timeNs) : null;
  }

  close(): void {
    this.control.abort();
    clearTimeout(this.retry);
    this.windows.clear();
  }

  private need(number: number): Window {
    const known = this.windows.get(number);
    if (known) {
      // Put last: the first of the map is the one that was not looked at for longest.
      this.windows.delete(number);
      this.windows.set(number, known);
      return known;
    }
    const window: Window = { pieces: [], state: "asked" };
    this.windows.set(number, window);
    while (this.windows.size > mostWindows) {
      this.windows.delete(this.windows.keys().next().value as number);
    }
    this.fill(number, window).catch((reason: unknown) => this.failed(window, reason));
    return window;
  }

  private async fill(number: number, window: Window): Promise<void> {
    const end = (number + 1) * this.lengthNs - 1;
    let from: number | null = number * this.lengthNs;
    while (from !== null) {
      const piece: Motion = await getMotion(this.id, this.stream, from, end, this.control.signal);
      window.pieces.push(piece);
      from = piece.nextNs;
    }
    window.state = "ready";
    this.error = null;
    this.onArrival();
  }

  private failed(window: Window, reason: unknown): void {
    if (this.control.signal.aborted) return;
    window.state = "failed";
    this.error = reason instanceof Error ? reason : new Error(String(reason));
    clearTimeout(this.retry);
    this.retry = setTimeout(this.forgetFailed, retryMs);
  }

  /** Whoever is told asks for the time of the moment again, and with it for its window. */
  private forgetFailed = (): void => {
    for (const [number, window] of this.windows)
      if (window.state === "failed") this.windows.delete(number);
    this.onArrival();
  };
}
