import { afterEach, expect, test, vi } from "vitest";
import { RowList } from "./row_list";

const total = 1000;

/** A server with `total` rows whose ids are their numbers; the addresses it was asked for. */
function serve(refuse = ""): string[] {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    asked.push(url);
    const params = new URL(url, "http://here").searchParams;
    if (refuse)
      return Promise.resolve(new Response(JSON.stringify({ error: refuse }), { status: 422 }));
    if (url.includes("landmarks")) {
      const ids = Array.from({ length: total / 100 }, (_, page) => String(page * 100 + 99));
      return Promise.resolve(Response.json({ total, step: 100, ids }));
    }
    const first = params.has("after") ? Number(params.get("after")) + 1 : 0;
    const rows = Array.from({ length: 100 }, (_, place) => ({ id: String(first + place) }));
    return new Promise((resolve, reject) => {
      init.signal?.addEventListener("abort", () => reject(new Error("aborted")));
      setTimeout(() => resolve(Response.json({ rows, after: String(first + 99) })), 1);
    });
  });
  return asked;
}

async function settle(list: RowList): Promise<void> {
  await vi.waitFor(() => expect(list.total !== null && list.isReady).toBe(true));
}

afterEach(() => vi.unstubAllGlobals());

test("a page in the middle is fetched alone, by its landmark", async () => {
  const asked = serve();
  const list = new RowList("", "-recorded");
  await settle(list);
  expect(list.known).toBe(total);
  list.want(740, 770);
  await vi.waitFor(() => expect(list.row(755)?.id).toBe("755"));
  expect(asked.length).toBe(3);
  expect(asked[2]).toContain("after=699");
  expect(list.row(300)).toBeUndefined();
});

test("what has scrolled away is no longer waited for, and can be asked for again", async () => {
  serve();
  const list = new RowList("", "-recorded");
  await settle(list);
  list.want(300, 330);
  list.want(900, 930);
  await vi.waitFor(() => expect(list.row(900)?.id).toBe("900"));
  expect(list.row(300)).toBeUndefined();
  list.want(300, 330);
  await vi.waitFor(() => expect(list.row(300)?.id).toBe("300"));
});

test("what is refused is told once and not asked for again", async () => {
  const asked = serve("query, got 'x' at character 1.");
  const list = new RowList("x", "-recorded");
  await vi.waitFor(() => expect(list.error?.message).toContain("at character 1"));
  const before = asked.length;
  list.want(0, 30);
  list.want(0, 60);
  expect(asked.length).toBe(before);
});
