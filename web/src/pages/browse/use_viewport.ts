// What of a long list is in view, and where it was when it was last looked at.
import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";

export interface Viewport {
  top: number;
  height: number;
  width: number;
}

export function useViewport(scroller: RefObject<HTMLElement | null>): Viewport {
  const [view, setView] = useState<Viewport>({ top: 0, height: 800, width: 1000 });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const measure = () => {
      const next = {
        top: element.scrollTop,
        height: element.clientHeight,
        width: element.clientWidth,
      };
      setView((old) =>
        old.top === next.top && old.height === next.height && old.width === next.width ? old : next,
      );
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, [scroller]);
  return view;
}

export interface Place {
  top: number;
  at: number;
}

const nowhere: Place = { top: 0, at: 0 };

export function storedPlace(key: string): Place {
  try {
    const found = JSON.parse(
      sessionStorage.getItem(`studio.list ${key}`) ?? "null",
    ) as Place | null;
    return found && Number.isFinite(found.top) && Number.isFinite(found.at) ? found : nowhere;
  } catch {
    return nowhere;
  }
}

/** Remember the place while it changes, so that Back and a reload return to it. */
export function useStoredPlace(key: string, place: Place): void {
  const latest = useRef(place);
  latest.current = place;
  // biome-ignore lint/correctness/useExhaustiveDependencies: stored when the place changes
  useEffect(() => {
    const timer = setTimeout(() => store(key, latest.current), 150);
    return () => clearTimeout(timer);
  }, [key, place.top, place.at]);
  useEffect(() => () => store(key, latest.current), [key]);
}

function store(key: string, place: Place): void {
  try {
    sessionStorage.setItem(`studio.list ${key}`, JSON.stringify(place));
  } catch {
    // A browser that keeps nothing only loses the place.
  }
}
