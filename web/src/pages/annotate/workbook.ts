// One task at work: what the server has, what is on its way there, and what both make together.
// Every edit is kept in the browser first, shown at once, and sent in order until it is saved.
import { StaleError, type Step } from "../../api/annotation";
import { StudioError } from "../../api/client";
import type { Annotation, Edit, SavedEdits, StaleEdits, WorkbenchTask } from "../../api/schema";
import { EditError } from "./edit";
import { advance, begin, type History } from "./history";
import type { EditStore } from "./indexed_db_store";
import { type KeptEdit, KeptEdits, type Shelf } from "./kept_edits";

export interface WorkState {
  history: History;
  /** Edits that the server does not have yet. */
  waiting: number;
  /** Whether the last attempt to reach the server failed. */
  isAway: boolean;
  /** Whether what waits would survive the window being closed. */
  isSafe: boolean;
  /** Somebody else's edits, to be decided about. */
  conflict: StaleEdits | null;
  /** Why the server does not take the edits; they stay in the browser. */
  refused: string | null;
  /** Something to say once, such as that another window changed the same task. */
  said: string | null;
}

export interface Server {
  get: () => Promise<WorkbenchTask>;
  send: (baseVersion: number, edits: Edit[]) => Promise<SavedEdits>;
}

const atOnce = 200;

export class Workbook {
  readonly who: string;
  private base: History;
  private version: number;
  private readonly kept: KeptEdits;
  private running: Promise<void> | null = null;
  private timer = 0;
  private failures = 0;
  private isOpen = true;
  private shown: WorkState;
  private readonly listeners = new Set<() => void>();

  constructor(
    task: WorkbenchTask,
    who: string,
    private readonly server: Server,
    shelf: Shelf = localStorage,
    private readonly pauseMs = 1000,
    store: EditStore | null = null,
  ) {
    this.who = who;
    this.kept = new KeptEdits(task.id, who, shelf, store);
    this.base = replay(task);
    this.version = task.version;
    this.forget(task);
    this.shown = { ...this.derived(), isAway: false, conflict: null, refused: null, said: null };
  }

  get state(): WorkState {
    return this.shown;
  }

  get content(): Annotation {
    return this.shown.history.content;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Do something: all of it or, where it cannot be, nothing. */
  do(action: string, steps: Step[]): boolean {
    if (!steps.length) return false;
    try {
      advance(this.shown.history, { action, steps });
    } catch (error) {
      if (!(error instanceof EditError)) throw error;
      this.tell({ said: error.message });
      return false;
    }
    const edit = this.kept.add({ id: newId(), action, steps });
    this.tell({
      said: null,
      history: advance(this.shown.history, edit),
      waiting: this.shown.waiting + 1,
      isSafe: this.kept.isSafe,
    });
    void this.flush();
    return true;
  }

  undo(): boolean {
    const back = this.shown.history.done.at(-1);
    return back ? this.do("undo", back) : false;
  }

  redo(): boolean {
    const again = this.shown.history.undone.at(-1);
    return again ? this.do("redo", again) : false;
  }

  /** Send what waits, in order; resolves when nothing more can be done now. */
  flush(): Promise<void> {
    this.running ??= this.run().finally(() => {
      this.running = null;
    });
    return this.running;
  }

  /** Another window of the browser has kept or sent something. */
  look(key: string | null): void {
    if (!this.kept.owns(key)) return;
    if (this.kept.all().length < this.shown.waiting) void this.reload();
    else this.tell(this.derived());
  }

  /** Take in what the server has; what waits stays on top of it. */
  async reload(): Promise<void> {
    const task = await this.server.get();
    this.base = replay(task);
    this.version = task.version;
    this.forget(task);
    this.tell({ ...this.derived(), conflict: null });
  }

  /** After somebody else's edits: put mine on top of theirs, or let mine go. */
  async decide(choice: "mine" | "theirs"): Promise<void> {
    if (choice === "theirs") this.kept.remove(this.kept.all());
    this.tell({ refused: null });
    await this.reload();
    await this.flush();
  }

  retry(): void {
    this.tell({ refused: null });
    void this.flush();
  }

  hush(): void {
    this.tell({ said: null });
  }

  close(): void {
    this.isOpen = false;
    clearTimeout(this.timer);
    this.listeners.clear();
  }

  private async run(): Promise<void> {
    clearTimeout(this.timer);
    while (this.isOpen && !this.shown.conflict && !this.shown.refused) {
      // Read anew each time: another window may have added some, or sent them.
      const batch = this.kept.all().slice(0, atOnce);
      if (!batch.length) {
        if (this.shown.waiting) this.tell(this.derived());
        return;
      }
      try {
        await this.save(batch);
      } catch (error) {
        if (!(await this.survives(error))) return;
      }
    }
  }

  private async save(batch: KeptEdit[]): Promise<void> {
    const answer = await this.server.send(this.version, batch);
    this.failures = 0;
    if (answer.version === this.version + batch.length) {
      this.base = batch.reduce(advance, this.base);
      this.version = answer.version;
      this.kept.remove(batch);
      this.tell({ ...this.derived(), isAway: false });
      return;
    }
    // Some of them were there already: the answer to an earlier attempt was lost.
    this.kept.remove(batch);
    await this.reload();
    this.tell({ isAway: false });
  }

  /** Whether sending goes on at once after an error. */
  private async survives(error: unknown): Promise<boolean> {
    if (error instanceof StaleError) return this.merge(error.stale);
    const isFinal =
      error instanceof StudioError && [400, 403, 404, 409, 410, 413, 422].includes(error.status);
    if (isFinal) {
      this.tell({ refused: (error as StudioError).message, isAway: false });
      return false;
    }
    this.failures += 1;
    this.tell({ isAway: true });
    const wait = this.pauseMs * Math.min(2 ** (this.failures - 1), 8);
    if (this.isOpen) this.timer = setTimeout(() => void this.flush(), wait) as unknown as number;
    return false;
  }

  /** Edits of the same person from another window go together; anybody else's are asked about. */
  private async merge(stale: StaleEdits): Promise<boolean> {
    if (stale.who.some((name) => name !== this.who)) {
      this.tell({ conflict: stale });
      return false;
    }
    try {
      await this.reload();
    } catch (error) {
      return this.survives(error);
    }
    this.tell({ said: "You changed this task in another window too. Both are kept." });
    return true;
  }

  /** What the server has need not wait any more: the answer that said so was lost. */
  private forget(task: WorkbenchTask): void {
    const saved = new Set(task.edits.map((each) => each.id));
    this.kept.remove(this.kept.all().filter((each) => saved.has(each.id)));
  }

  private derived(): Pick<WorkState, "history" | "waiting" | "isSafe"> {
    const waiting = this.kept.all();
    let history = this.base;
    for (const edit of waiting) {
      try {
        history = advance(history, edit);
      } catch (error) {
        // On top of somebody else's edits one of mine may not be possible; the server will say so.
        if (!(error instanceof EditError)) throw error;
      }
    }
    return { history, waiting: waiting.length, isSafe: this.kept.isSafe };
  }

  private tell(change: Partial<WorkState>): void {
    this.shown = { ...this.shown, ...change };
    for (const listener of this.listeners) listener();
  }
}

function replay(task: WorkbenchTask): History {
  return task.edits.reduce(advance, begin(task.start));
}

/** An id that nobody else makes; those made later sort behind, as instructions are listed. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  const rest = Array.from(bytes, (each) => each.toString(16).padStart(2, "0")).join("");
  return `${Date.now().toString(36)}_${rest}`;
}
