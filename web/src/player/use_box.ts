import { type RefObject, useEffect, useRef, useState } from "react";

/** The size of an element, whenever it changes. */
export function useBox(): {
  element: RefObject<HTMLDivElement | null>;
  width: number;
  height: number;
} {
  const element = useRef<HTMLDivElement>(null);
  const [box, setBox] = useState({ width: 0, height: 0 });
  useEffect(() => {
    const seen = element.current;
    if (!seen) return;
    const measure = () => {
      // The parent decides the height; what is in the box must not.
      const height = seen.parentElement?.clientHeight ?? 0;
      setBox({ width: seen.clientWidth, height: narrow.matches ? 0 : height });
    };
    const narrow = window.matchMedia("(max-width: 900px)");
    const observer = new ResizeObserver(measure);
    observer.observe(seen);
    if (seen.parentElement) observer.observe(seen.parentElement);
    measure();
    return () => observer.disconnect();
  }, []);
  return { element, ...box };
}
