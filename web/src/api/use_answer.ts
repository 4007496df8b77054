import { startTransition, useEffect, useState } from "react";

export interface Answer<T> {
  value: T | null;
  error: Error | null;
  waiting: boolean;
  again: () => void;
}

/** Ask when `keys` change; an answer that comes too late for the last question is dropped. */
export function useAnswer<T>(ask: (signal: AbortSignal) => Promise<T>, keys: unknown[]): Answer<T> {
  const [value, setValue] = useState<T | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [waiting, setWaiting] = useState(true);
  const [turn, setTurn] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever asks names in keys what the question depends on
  useEffect(() => {
    const control = new AbortController();
    setWaiting(true);
    ask(control.signal).then(
      (found) => {
        if (control.signal.aborted) return;
        // No hurry before what people press; and a part of the page that is here already appears
        // at once, where an urgent change would show "waiting" first and keep it for 300 ms.
        startTransition(() => {
          setValue(found);
          setError(null);
          setWaiting(false);
        });
      },
      (reason: unknown) => {
        if (control.signal.aborted) return;
        setError(reason instanceof Error ? reason : new Error(String(reason)));
        setWaiting(false);
      },
    );
    return () => control.abort();
  }, [...keys, turn]);
  return { value, error, waiting, again: () => setTurn((n) => n + 1) };
}
