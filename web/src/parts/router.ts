// Addresses of the page: /episodes/<id>?t=1200000000 is a link to one moment.
import { useSyncExternalStore } from "react";

const changed = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  changed.add(listener);
  window.addEventListener("popstate", listener);
  return () => {
    changed.delete(listener);
    window.removeEventListener("popstate", listener);
  };
}

export function useAddress(): URL {
  const href = useSyncExternalStore(subscribe, () => window.location.href);
  return new URL(href);
}

/** Go to another page; `replace` leaves no step in the history. */
export function go(to: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  for (const listener of changed) listener();
}

/** Put values into the address without a step in the history; null takes one out. */
export function keepInAddress(values: Record<string, string | null>): void {
  const url = new URL(window.location.href);
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === "") url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  if (url.href !== window.location.href) go(url.pathname + url.search, { replace: true });
}
