// A server for tests of components: answers by path, and keeps what it was asked.
import { vi } from "vitest";

export interface Asked {
  method: string;
  path: string;
  params: URLSearchParams;
  body: unknown;
}

/** A path of the API, without `/api`, and what it answers; a refusal is told with its status. */
export type Answers = Record<string, (asked: Asked) => unknown>;

export class Refusal {
  constructor(
    readonly status: number,
    readonly sentence: string,
  ) {}
}

/** Answer all requests of the page until the test ends. */
export function serve(answers: Answers): Asked[] {
  const log: Asked[] = [];
  vi.stubGlobal("fetch", async (url: string, init: RequestInit = {}) => {
    const { pathname, searchParams } = new URL(url, "http://studio");
    const asked: Asked = {
      method: init.method ?? "GET",
      path: pathname.replace(/^\/api/, ""),
      params: searchParams,
      body: typeof init.body === "string" ? JSON.parse(init.body) : null,
    };
    log.push(asked);
    const answer = answers[asked.path];
    if (!answer) throw new Error(`The test has no answer for ${asked.path}.`);
    const said = answer(asked);
    if (said instanceof Refusal) {
      return new Response(JSON.stringify({ error: said.sentence }), { status: said.status });
    }
    return new Response(JSON.stringify(said), { status: 200 });
  });
  return log;
}
