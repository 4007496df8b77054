// What people call episodes: #4. Numbers of ids are asked for together, once each.
import { getJson } from "./client";
import type { NamedEpisode } from "./schema";

export function findByName(name: string, signal?: AbortSignal): Promise<NamedEpisode> {
  return getJson(`/names/${encodeURIComponent(name)}`, {}, signal);
}

/** #4; the beginning of the id where there is no number. */
export function nameOf({ id, number }: NamedEpisode): string {
  return number === null ? id.slice(0, 13) : `#${number}`;
}

const known = new Map<string, Promise<string>>();
let waiting: { id: string; tell: (name: string) => void }[] = [];
const most = 200;

/** The name of an episode of which only the id is at hand. */
export function episodeName(id: string): Promise<string> {
  const there = known.get(id);
  if (there) return there;
  const name = new Promise<string>((tell) => {
    if (waiting.length === 0) setTimeout(ask);
    waiting.push({ id, tell });
  });
  known.set(id, name);
  return name;
}

function ask(): void {
  const asked = waiting;
  waiting = [];
  for (let first = 0; first < asked.length; first += most) {
    void answer(asked.slice(first, first + most));
  }
}

async function answer(asked: typeof waiting): Promise<void> {
  const names = new Map<string, string>();
  try {
    const found = await getJson<NamedEpisode[]>("/names", { id: asked.map(({ id }) => id) });
    for (const each of found) names.set(each.id, nameOf(each));
  } catch {
    // Asked for again when they are shown the next time.
    for (const { id } of asked) known.delete(id);
  }
  for (const { id, tell } of asked) tell(names.get(id) ?? nameOf({ id, number: null }));
}
