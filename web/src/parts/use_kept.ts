import { useState } from "react";

/** A value that the browser remembers from one visit to the next. */
export function useKept<T>(name: string, first: T): [T, (value: T) => void] {
  const [value, setValue] = useState<T>(() => {
    try {
      const found: unknown = JSON.parse(localStorage.getItem(name) ?? "null");
      return found !== null && typeof found === typeof first ? (found as T) : first;
    } catch {
      return first;
    }
  });
  const keep = (next: T) => {
    setValue(next);
    try {
      localStorage.setItem(name, JSON.stringify(next));
    } catch {
      // A browser that stores nothing still shows the page.
    }
  };
  return [value, keep];
}
