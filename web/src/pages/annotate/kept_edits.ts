// Edits on their way, kept in the browser until the server has them. Each has its own entry, so
// that two windows on one task never write over each other's.
import type { Edit, WorkbenchTask } from "../../api/schema";
import type { EditStore } from "./indexed_db_store";

export interface KeptEdit extends Edit {
  /** Orders the edits of all windows; larger is later. */
  order: number;
}

export type Shelf = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

const digits = 16;

export class KeptEdits {
  private readonly prefix: string;
  private last = 0;
  /** What the browser had no room for: safe as long as the window stays open. */
  private readonly unkept = new Map<string, KeptEdit>();

  constructor(
    task: string,
    who: string,
    private readonly shelf: Shelf = localStorage,
    private readonly store: EditStore | null = null,
  ) {
    this.prefix = `studio:annotate:${task}:${who}:`;
  }

  /** Whether everything would survive the window being closed. */
  get isSafe(): boolean {
    return this.unkept.size === 0;
  }

  /** Whether a change of this entry of the browser's storage is one of these. */
  owns(key: string | null): boolean {
    return key === null || key.startsWith(this.prefix);
  }

  all(): KeptEdit[] {
    const found = [...this.unkept.values()];
    for (let place = 0; place < this.shelf.length; place += 1) {
      const key = this.shelf.key(place);
      if (!key?.startsWith(this.prefix)) continue;
      const edit = read(this.shelf.getItem(key));
      if (edit) found.push(edit);
    }
    return found.sort((one, other) => one.order - other.order || (one.id < other.id ? -1 : 1));
  }

  /** Bring back what only the store has, after a crash; the server's own ids are done with. */
  async recover(known: ReadonlySet<string>): Promise<void> {
    const texts = await (this.store?.all(this.prefix) ?? Promise.resolve([])).catch(() => []);
    const here = new Set(this.all().map((each) => each.id));
    for (const edit of texts.map(read)) {
      if (!edit) continue;
      if (known.has(edit.id)) void this.store?.remove(this.keyOf(edit)).catch(nothing);
      else if (!here.has(edit.id)) this.keep(edit);
    }
  }

  add(edit: Edit): KeptEdit {
    const latest = this.all().at(-1)?.order ?? 0;
    this.last = Math.max(Date.now() * 1000, latest + 1, this.last + 1);
    const kept = { ...edit, order: this.last };
    this.keep(kept);
    void this.store?.put(this.keyOf(kept), JSON.stringify(kept)).catch(nothing);
    return kept;
  }

  remove(edits: KeptEdit[]): void {
    for (const each of edits) {
      this.unkept.delete(each.id);
      this.shelf.removeItem(this.keyOf(each));
      void this.store?.remove(this.keyOf(each)).catch(nothing);
    }
  }

  private keep(edit: KeptEdit): void {
    try {
      this.shelf.setItem(this.keyOf(edit), JSON.stringify(edit));
    } catch {
      this.unkept.set(edit.id, edit);
    }
  }

  private keyOf(edit: KeptEdit): string {
    return `${this.prefix}${String(edit.order).padStart(digits, "0")}:${edit.id}`;
  }
}

/** Take up what an earlier window could not send any more, before the task is shown. */
export async function recoverEdits(
  task: Pick<WorkbenchTask, "id" | "edits">,
  who: string,
  shelf: Shelf,
  store: EditStore,
): Promise<void> {
  const known = new Set(task.edits.map((each) => each.id));
  await new KeptEdits(task.id, who, shelf, store).recover(known);
}

/** A store that fails leaves the browser's own keeping, which it only doubles. */
function nothing(): void {}

function read(text: string | null): KeptEdit | null {
  try {
    const found = JSON.parse(text ?? "null") as KeptEdit | null;
    return found && typeof found.id === "string" && Array.isArray(found.steps) ? found : null;
  } catch {
    return null;
  }
}
