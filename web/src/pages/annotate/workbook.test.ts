import { expect, test } from "vitest";
import { StaleError, type Step } from "../../api/annotation";
import { StudioError } from "../../api/client";
import type { Annotation, Edit, MadeEdit, SavedEdits, WorkbenchTask } from "../../api/schema";
import { apply } from "./edit";
import given from "./edit_cases.json";
import { recoverEdits } from "./kept_edits";
import { type Server, Workbook } from "./workbook";

class Drawer {
  readonly held = new Map<string, string>();
  get length() {
    return this.held.size;
  }
  key = (place: number) => [...this.held.keys()][place] ?? null;
  getItem = (key: string) => this.held.get(key) ?? null;
  setItem = (key: string, value: string) => void this.held.set(key, value);
  removeItem = (key: string) => void this.held.delete(key);
}

/** A server with the rules of the store: every id once, and no edit on top of another's. */
class Desk implements Server {
  edits: MadeEdit[] = [];
  mood: "up" | "down" | "deaf" = "up";
  constructor(private readonly who = "ann") {}

  get content(): Annotation {
    return this.edits.reduce(apply, given.blank as unknown as Annotation);
  }

  get = async (): Promise<WorkbenchTask> => {
    if (this.mood === "down") throw new StudioError(0, "away");
    const start = given.blank as unknown as Annotation;
    return {
      id: "t",
      version: this.edits.length,
      start,
      content: this.content,
      edits: [...this.edits],
    } as unknown as WorkbenchTask;
  };

  send = async (base: number, sent: Edit[]): Promise<SavedEdits> => {
    await Promise.resolve();
    if (this.mood === "down") throw new StudioError(0, "away");
    const seen = new Set(this.edits.map((each) => each.id));
    const fresh = sent.filter((each) => !seen.has(each.id));
    const foreign = this.edits.slice(base).filter((each) => !sent.some(({ id }) => id === each.id));
    if (fresh.length && foreign.length) {
      const who = [...new Set(foreign.map((each) => each.who))];
      throw new StaleError({
        error: "stale",
        version: this.edits.length,
        since: this.edits.slice(base),
        who,
      });
    }
    this.edits.push(...fresh.map((each) => ({ ...each, who: this.who, at: "" })));
    if (this.mood === "deaf") throw new StudioError(0, "the answer was lost");
    return { version: this.edits.length, content: this.content };
  };
}

const say = (id: string, text: string): Step[] => [
  { put: { id, text, language: "en", source: "person" } },
];
const texts = (content: Annotation) => content.instructions.map((each) => each.text);
const open = async (desk: Desk, drawer = new Drawer()) =>
  new Workbook(await desk.get(), "ann", desk, drawer, 1);
const settle = () => new Promise((done) => setTimeout(done, 30));

test("an edit is shown at once and saved soon", async () => {
  const desk = new Desk();
  const book = await open(desk);
  book.do("type", say("a", "one"));
  expect(texts(book.content)).toEqual(["one"]);
  expect(book.state.waiting).toBe(1);
  await settle();
  expect(book.state.waiting).toBe(0);
  expect(texts(desk.content)).toEqual(["one"]);
});

test("edits made while the server is away wait, survive a reload, and arrive in order", async () => {
  const desk = new Desk();
  const drawer = new Drawer();
  const book = await open(desk, drawer);
  desk.mood = "down";
  book.do("type", say("a", "one"));
  book.do("type", say("a", "two"));
  await settle();
  expect(book.state).toMatchObject({ isAway: true, waiting: 2 });
  book.close();
  desk.mood = "up";
  const again = await open(desk, drawer);
  expect(texts(again.content)).toEqual(["two"]);
  await again.flush();
  expect(desk.edits.map((each) => each.steps)).toEqual([say("a", "one"), say("a", "two")]);
  expect(drawer.length).toBe(0);
});

test("an answer that is lost makes no edit twice", async () => {
  const desk = new Desk();
  const book = await open(desk);
  desk.mood = "deaf";
  book.do("type", say("a", "one"));
  await Promise.resolve();
  book.do("type", say("b", "two"));
  await settle();
  desk.mood = "up";
  await settle();
  await book.flush();
  expect(desk.edits.length).toBe(2);
  expect(book.state.waiting).toBe(0);
  expect(texts(book.content)).toEqual(["one", "two"]);
});

test("two windows of one person lose nothing of either", async () => {
  const desk = new Desk();
  const drawer = new Drawer();
  const [one, other] = [await open(desk, drawer), await open(desk, drawer)];
  one.do("type", say("a", "one"));
  await settle();
  other.do("type", say("b", "two"));
  await settle();
  expect(texts(desk.content)).toEqual(["one", "two"]);
  expect(texts(other.content)).toEqual(["one", "two"]);
});

test("another person's edits are asked about, and mine can go on top of theirs", async () => {
  const desk = new Desk("ann");
  const book = await open(desk);
  desk.edits.push({ id: "x", action: "type", steps: say("b", "theirs"), who: "bob", at: "" });
  book.do("type", say("a", "mine"));
  await settle();
  expect(book.state.conflict?.who).toEqual(["bob"]);
  expect(book.state.waiting).toBe(1);
  await book.decide("mine");
  expect(texts(desk.content)).toEqual(["mine", "theirs"]);
  expect(book.state).toMatchObject({ conflict: null, waiting: 0 });
});

test("mine can also be let go", async () => {
  const desk = new Desk("ann");
  const book = await open(desk);
  desk.edits.push({ id: "x", action: "type", steps: say("b", "theirs"), who: "bob", at: "" });
  book.do("type", say("a", "mine"));
  await settle();
  await book.decide("theirs");
  expect(texts(book.content)).toEqual(["theirs"]);
  expect(desk.edits.length).toBe(1);
});

test("what is undone stays undone after a reload, and can be done again", async () => {
  const desk = new Desk();
  const book = await open(desk);
  book.do("type", say("a", "one"));
  book.do("type", say("a", "two"));
  book.undo();
  await settle();
  const again = await open(desk);
  expect(texts(again.content)).toEqual(["one"]);
  again.redo();
  expect(texts(again.content)).toEqual(["two"]);
});

test("a browser without room still shows and sends, and says that it is not safe", async () => {
  const desk = new Desk();
  const drawer = new Drawer();
  drawer.setItem = () => {
    throw new Error("full");
  };
  const book = await open(desk, drawer);
  desk.mood = "down";
  book.do("type", say("a", "one"));
  expect(book.state.isSafe).toBe(false);
  desk.mood = "up";
  await settle();
  expect(texts(desk.content)).toEqual(["one"]);
  expect(book.state.isSafe).toBe(true);
});

test("what only the disk still has after a crash comes back, and what the server has does not", async () => {
  const desk = new Desk();
  const held = new Map<string, string>();
  const store = {
    put: async (key: string, text: string) => void held.set(key, text),
    remove: async (key: string) => void held.delete(key),
    all: async (prefix: string) =>
      [...held].filter(([key]) => key.startsWith(prefix)).map(([, text]) => text),
  };
  const opened = async () => {
    const task = await desk.get();
    const drawer = new Drawer();
    await recoverEdits(task, "ann", drawer, store);
    return new Workbook(task, "ann", desk, drawer, 1, store);
  };
  const book = await opened();
  book.do("type", say("a", "saved"));
  await settle();
  expect(held.size).toBe(0);
  desk.mood = "down";
  book.do("type", say("b", "not saved"));
  await settle();
  book.close();
  desk.mood = "up";
  const again = await opened();
  expect(again.state.waiting).toBe(1);
  await again.flush();
  expect(texts(desk.content)).toEqual(["saved", "not saved"]);
  expect(held.size).toBe(0);
});

test("an edit whose answer was lost is not shown twice after a reload", async () => {
  const desk = new Desk();
  const drawer = new Drawer();
  const book = await open(desk, drawer);
  desk.mood = "deaf";
  book.do("type", say("a", "one"));
  await settle();
  book.close();
  desk.mood = "up";
  const again = await open(desk, drawer);
  expect(again.state).toMatchObject({ waiting: 0 });
  expect(again.state.history.done.length).toBe(1);
});
