// Answers that are asked for before the part of the page that needs them is there.
const coming = new Map<string, Promise<unknown>>();

/** Ask now; whoever wants the same a little later takes this answer. */
export function prefetch<T>(key: string, ask: () => Promise<T>): Promise<T> {
  const answer = ask();
  coming.set(key, answer);
  // Whoever takes it hears what went wrong.
  answer.catch(() => undefined);
  return answer;
}

/** The answer that is on its way, once; asked for anew where there is none or it has failed. */
export function prefetched<T>(key: string, ask: () => Promise<T>): Promise<T> {
  const known = coming.get(key) as Promise<T> | undefined;
  coming.delete(key);
  return known ? known.catch(ask) : ask();
}
