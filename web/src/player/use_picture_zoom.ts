// A picture that is looked at closely: the wheel zooms where the pointer is, a drag moves it.
import { type KeyboardEvent, type RefObject, useEffect, useRef, useState } from "react";

interface Look {
  scale: number;
  x: number;
  y: number;
}

const whole: Look = { scale: 1, x: 0, y: 0 };
const MOST = 16;
const STEP_PX = 40;
const STEP = 1.25;

/** Zoom by `factor` around a place of the box, in pixels from its middle; never beyond its edges. */
export function zoomed(
  look: Look,
  factor: number,
  at: { x: number; y: number },
  box: { width: number; height: number },
): Look {
  const scale = Math.min(Math.max(look.scale * factor, 1), MOST);
  const by = scale / look.scale;
  return held({ scale, x: at.x - (at.x - look.x) * by, y: at.y - (at.y - look.y) * by }, box);
}

/** The same, with no edge of the picture inside of the box. */
export function held(look: Look, box: { width: number; height: number }): Look {
  const far = { x: ((look.scale - 1) * box.width) / 2, y: ((look.scale - 1) * box.height) / 2 };
  return {
    scale: look.scale,
    x: Math.min(Math.max(look.x, -far.x), far.x),
    y: Math.min(Math.max(look.y, -far.y), far.y),
  };
}

/** Zooms the canvas of a tile; the tile's own keys + - 0 and arrows do the same. */
export function usePictureZoom(tile: RefObject<HTMLElement | null>) {
  const look = useRef<Look>(whole);
  const [scale, setScale] = useState(1);
  const show = useRef((next: Look) => {
    look.current = next;
    const { x, y, scale: by } = next;
    // What lies over the picture goes with it.
    for (const canvas of tile.current?.querySelectorAll("canvas") ?? [])
      canvas.style.transform = by === 1 ? "" : `translate(${x}px, ${y}px) scale(${by})`;
    setScale(by);
  }).current;
  useEffect(() => {
    const element = tile.current;
    if (!element) return;
    const stop = new AbortController();
    const { signal } = stop;
    let from: { x: number; y: number } | null = null;
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const box = element.getBoundingClientRect();
      const at = {
        x: event.clientX - box.left - box.width / 2,
        y: event.clientY - box.top - box.height / 2,
      };
      const turn = Math.min(Math.max(event.deltaY, -200), 200);
      show(zoomed(look.current, Math.exp(-turn * 0.0022), at, box));
    };
    const down = (event: PointerEvent) => {
      const isButton = event.target instanceof Element && event.target.closest("button, input");
      if (event.button !== 0 || look.current.scale === 1 || isButton) return;
      from = { x: event.clientX - look.current.x, y: event.clientY - look.current.y };
      element.setPointerCapture(event.pointerId);
    };
    const move = (event: PointerEvent) => {
      if (!from) return;
      const next = { ...look.current, x: event.clientX - from.x, y: event.clientY - from.y };
      show(held(next, element.getBoundingClientRect()));
    };
    const up = () => {
      from = null;
    };
    element.addEventListener("wheel", wheel, { signal, passive: false });
    element.addEventListener("pointerdown", down, { signal });
    element.addEventListener("pointermove", move, { signal });
    element.addEventListener("pointerup", up, { signal });
    element.addEventListener("pointercancel", up, { signal });
    const size = new ResizeObserver(() =>
      show(held(look.current, element.getBoundingClientRect())),
    );
    size.observe(element);
    return () => {
      stop.abort();
      size.disconnect();
    };
  }, [tile, show]);
  const onKey = (event: KeyboardEvent): boolean => {
    const box = tile.current?.getBoundingClientRect();
    const next = box && keyed(look.current, event.key, box);
    if (!next) return false;
    show(next);
    return true;
  };
  return { scale, onKey, reset: () => show(whole) };
}

/** What a key does to the look; null where it means something else. */
function keyed(look: Look, key: string, box: DOMRect): Look | null {
  const middle = { x: 0, y: 0 };
  if (key === "+") return zoomed(look, STEP, middle, box);
  if (look.scale === 1) return null;
  if (key === "-") return zoomed(look, 1 / STEP, middle, box);
  if (key === "0") return whole;
  const ways: Record<string, [number, number]> = {
    ArrowLeft: [STEP_PX, 0],
    ArrowRight: [-STEP_PX, 0],
    ArrowUp: [0, STEP_PX],
    ArrowDown: [0, -STEP_PX],
  };
  const way = ways[key];
  return way ? held({ ...look, x: look.x + way[0], y: look.y + way[1] }, box) : null;
}
