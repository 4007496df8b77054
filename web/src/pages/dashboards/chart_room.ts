// How much room a drawing has: small among others, all of it when it is alone.
import {
  createContext,
  type RefObject,
  useContext,
  useLayoutEffect,
  useRef,
  useState,
} from "react";

export const ChartRoom = createContext<number | null>(null);

/** A page is one screen where there is one; the same words stand in dashboards.css. */
const oneScreen = "(min-width: 1100px) and (min-height: 640px)";

/** The height that is left for a drawing; null where the page scrolls. */
export function useRoom(): [RefObject<HTMLDivElement | null>, number | null] {
  const ref = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState<number | null>(null);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const screen = window.matchMedia(oneScreen);
    const measure = () => setRoom(screen.matches ? element.clientHeight : null);
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    screen.addEventListener("change", measure);
    return () => {
      observer.disconnect();
      screen.removeEventListener("change", measure);
    };
  }, []);
  return [ref, room];
}

/** The height of a drawing; `usual` where the page scrolls. */
export function useChartHeight(usual: number): number {
  const room = useContext(ChartRoom);
  return room === null ? usual : Math.max(88, room);
}
