import { useEffect, useRef } from "react";

/** Tells how many seconds something was looked at: time in which the window was hidden is left out. */
export function useAttention(): () => number {
  const total = useRef(0);
  const since = useRef<number | null>(null);
  useEffect(() => {
    const change = () => {
      const now = performance.now();
      if (since.current !== null) total.current += now - since.current;
      since.current = document.hidden ? null : now;
    };
    change();
    document.addEventListener("visibilitychange", change);
    return () => document.removeEventListener("visibilitychange", change);
  }, []);
  return () =>
    (total.current + (since.current === null ? 0 : performance.now() - since.current)) / 1000;
}
