// The finding that is selected, shared by timeline, plots and panel through an event of the page.
import { useEffect, useState } from "react";

export const FINDING_EVENT = "studio:finding";

export function selectFinding(number: number | null): void {
  window.dispatchEvent(new CustomEvent(FINDING_EVENT, { detail: number }));
}

export function useSelectedFinding(): number | null {
  const [selected, setSelected] = useState<number | null>(null);
  useEffect(() => {
    const listen = (event: Event) => {
      const { detail } = event as CustomEvent<unknown>;
      setSelected(typeof detail === "number" ? detail : null);
    };
    window.addEventListener(FINDING_EVENT, listen);
    return () => window.removeEventListener(FINDING_EVENT, listen);
  }, []);
  return selected;
}
