import { type PointerEvent as Press, useRef } from "react";
import "./splitter.css";

export interface SplitterProps {
  label: string;
  /** Which way the bar lies: a horizontal bar parts what is above from what is below. */
  lies: "horizontal" | "vertical";
  /** Percent of the space that the part before the bar takes. */
  value: number;
  least: number;
  most: number;
  onChange: (value: number) => void;
}

const STEP = 2;

/** A bar between two parts of the page that is dragged, or moved with the arrow keys. */
export function Splitter({ label, lies, value, least, most, onChange }: SplitterProps) {
  const element = useRef<HTMLDivElement>(null);
  const set = (wanted: number) => onChange(Math.min(Math.max(wanted, least), most));
  const drag = (event: Press) => {
    const space = element.current?.parentElement?.getBoundingClientRect();
    if (!space || !element.current?.hasPointerCapture(event.pointerId)) return;
    const share =
      lies === "horizontal"
        ? (event.clientY - space.top) / space.height
        : (event.clientX - space.left) / space.width;
    set(share * 100);
  };
  const back = lies === "horizontal" ? "ArrowUp" : "ArrowLeft";
  const on = lies === "horizontal" ? "ArrowDown" : "ArrowRight";
  return (
    <div
      ref={element}
      className={`splitter splitter-${lies}`}
      role="separator"
      tabIndex={0}
      data-own-arrows
      aria-label={label}
      aria-orientation={lies}
      aria-valuenow={Math.round(value)}
      aria-valuemin={least}
      aria-valuemax={most}
      onPointerDown={(event) => {
        event.preventDefault();
        element.current?.focus();
        element.current?.setPointerCapture(event.pointerId);
      }}
      onPointerMove={drag}
      onKeyDown={(event) => {
        const wanted = { [back]: value - STEP, [on]: value + STEP, Home: least, End: most }[
          event.key
        ];
        if (wanted === undefined) return;
        event.preventDefault();
        set(wanted);
      }}
    />
  );
}
