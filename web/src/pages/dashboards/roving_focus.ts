// Many marks, one stop of the Tab key: arrows go from mark to mark.
import { type KeyboardEvent, type RefObject, useEffect, useRef } from "react";

const steps: Record<string, [number, number]> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowUp: [0, -1],
};

export interface RovingFocus<E> {
  ref: RefObject<E | null>;
  onKeyDown: (event: KeyboardEvent) => void;
}

/** Elements with `data-mark` inside `ref` lie `perRow` to a row; with 1, all arrows step by one. */
export function useRovingFocus<E extends HTMLElement | SVGElement>(perRow = 1): RovingFocus<E> {
  const ref = useRef<E>(null);
  const marks = () => [
    ...(ref.current?.querySelectorAll<HTMLElement | SVGElement>("[data-mark]") ?? []),
  ];
  useEffect(() => {
    const found = marks();
    const kept = Math.max(0, found.indexOf(document.activeElement as HTMLElement));
    for (const [place, mark] of found.entries()) {
      mark.setAttribute("tabindex", place === kept ? "0" : "-1");
    }
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const found = marks();
    const at = found.indexOf(document.activeElement as HTMLElement);
    const step = steps[event.key];
    if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    let next = at;
    if (event.key === "Home") next = 0;
    else if (event.key === "End") next = found.length - 1;
    else if (step) next = at + step[0] + step[1] * perRow;
    else return;
    event.preventDefault();
    const target = found[next];
    if (!target) return;
    found[at]?.setAttribute("tabindex", "-1");
    target.setAttribute("tabindex", "0");
    target.focus();
  };
  return { ref, onKeyDown };
}
