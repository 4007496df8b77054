// Decisions on their way: kept in the browser until the server has them, so that none is lost
// when the server stops or the window is closed. The same key sent twice is one decision.
import { StudioError, sendJson } from "../../api/client";
import { itemAddress } from "../../api/review";
import type { DecidedItem } from "../../api/schema";

export interface Sending {
  kind: "decision" | "undo";
  review: string;
  episode: string;
  body: { key: string; [more: string]: unknown };
}

export interface Refused extends Sending {
  sentence: string;
}

type Send = (sending: Sending) => Promise<DecidedItem>;
type Store = Pick<Storage, "getItem" | "setItem">;

/** Answers that will be the same however often one asks. */
function isFinal(error: unknown): error is StudioError {
  return error instanceof StudioError && [400, 403, 404, 409, 410, 422].includes(error.status);
}

export class Outbox {
  private running: Promise<DecidedItem | null> | null = null;
  private timer = 0;
  private readonly listeners = new Set<() => void>();
  private shown: { waiting: Sending[]; refused: Refused[] };

  constructor(
    private readonly who: string,
    private readonly store: Store = localStorage,
    private readonly send: Send = post,
    private readonly pauseMs = 2000,
  ) {
    this.shown = { waiting: this.read<Sending>("outbox"), refused: this.read<Refused>("refused") };
  }

  /** The same object until something changes. */
  get state(): { waiting: Sending[]; refused: Refused[] } {
    return this.shown;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Kept before anything is sent. */
  add(sending: Sending): void {
    this.write("outbox", [...this.read<Sending>("outbox"), sending]);
  }

  /** Send all in order; the last answer, or null where the server does not answer. */
  flush(): Promise<DecidedItem | null> {
    this.running ??= this.run().finally(() => {
      this.running = null;
    });
    return this.running;
  }

  dismiss(): void {
    this.write("refused", []);
  }

  private async run(): Promise<DecidedItem | null> {
    clearTimeout(this.timer);
    let last: DecidedItem | null = null;
    for (;;) {
      // Read anew each time: another tab may have sent some.
      const next = this.read<Sending>("outbox")[0];
      if (!next) return last;
      try {
        last = await this.send(next);
      } catch (error) {
        if (!isFinal(error)) {
          this.timer = setTimeout(() => void this.flush(), this.pauseMs) as unknown as number;
          return null;
        }
        this.write("refused", [
          ...this.read<Refused>("refused"),
          { ...next, sentence: error.message },
        ]);
      }
      this.write(
        "outbox",
        this.read<Sending>("outbox").filter(({ body }) => body.key !== next.body.key),
      );
    }
  }

  private read<T>(box: string): T[] {
    try {
      const found: unknown = JSON.parse(
        this.store.getItem(`studio:review:${box}:${this.who}`) ?? "[]",
      );
      return Array.isArray(found) ? (found as T[]) : [];
    } catch {
      return [];
    }
  }

  private write(box: string, list: Sending[]): void {
    this.store.setItem(`studio:review:${box}:${this.who}`, JSON.stringify(list));
    this.shown = { waiting: this.read<Sending>("outbox"), refused: this.read<Refused>("refused") };
    for (const listener of this.listeners) listener();
  }
}

function post(sending: Sending): Promise<DecidedItem> {
  return sendJson<DecidedItem>(
    "POST",
    `${itemAddress(sending.review, sending.episode)}/${sending.kind}`,
    sending.body,
  );
}

const boxes = new Map<string, Outbox>();

/** One for each person who uses this browser; it goes on sending while other pages are shown. */
export function outboxOf(who: string): Outbox {
  let box = boxes.get(who);
  if (!box) {
    box = new Outbox(who);
    boxes.set(who, box);
  }
  return box;
}

/** A key that no other decision has; `crypto.randomUUID` is missing on plain http. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
