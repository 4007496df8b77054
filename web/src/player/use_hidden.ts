import { useState } from "react";

const place = "studio.hidden-cameras";

function stored(): Set<string> {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(place) ?? "[]");
    return new Set(Array.isArray(found) ? found.map(String) : []);
  } catch {
    return new Set();
  }
}

/** The cameras that somebody does not want to see, in this browser, in any episode. */
export function useHidden(): [Set<string>, (path: string, isHidden: boolean) => void] {
  const [hidden, setHidden] = useState(stored);
  const change = (path: string, isHidden: boolean) => {
    setHidden((before) => {
      if (before.has(path) === isHidden) return before;
      const after = new Set(before);
      if (isHidden) after.add(path);
      else after.delete(path);
      localStorage.setItem(place, JSON.stringify([...after]));
      return after;
    });
  };
  return [hidden, change];
}
