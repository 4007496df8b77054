// Dragging anywhere on the timeline takes the clock along; a press without a move seeks.
import { type PointerEvent, type RefObject, useRef } from "react";
import { timeAt, type ViewWindow } from "../plots/window";
import type { Clock } from "./clock";
import type { Tip } from "./timeline_tip";

const STILL_PX = 4;

export function useScrub(
  track: RefObject<HTMLElement | null>,
  clock: Clock,
  view: ViewWindow,
  onTip: (tip: Tip | null) => void,
) {
  const press = useRef<{ x: number; moved: boolean } | null>(null);
  const inner = () =>
    track.current?.querySelector(".timeline-axis")?.getBoundingClientRect() ?? new DOMRect();
  const share = (event: PointerEvent) => {
    const { left, width } = inner();
    return Math.min(Math.max((event.clientX - left) / Math.max(width, 1), 0), 1);
  };
  const time = (event: PointerEvent) => timeAt(share(event), view.startNs, view.endNs, 1);
  const isMark = (event: PointerEvent) =>
    event.target instanceof Element && event.target.closest("button, .timeline-name") !== null;
  return {
    onPointerDown: (event: PointerEvent<HTMLElement>) => {
      if (event.button === 0) press.current = { x: event.clientX, moved: false };
    },
    onPointerMove: (event: PointerEvent<HTMLElement>) => {
      const held = press.current;
      if (!held) {
        if (!isMark(event) && !(event.target as Element).closest("li"))
          onTip({ timeNs: time(event) });
        return;
      }
      if (!held.moved && Math.abs(event.clientX - held.x) > STILL_PX) {
        held.moved = true;
        event.currentTarget.setPointerCapture(event.pointerId);
      }
      if (held.moved) {
        clock.seek(time(event));
        onTip({ timeNs: clock.timeNs });
      }
    },
    onPointerUp: (event: PointerEvent<HTMLElement>) => {
      const held = press.current;
      press.current = null;
      if (held && !held.moved && !isMark(event)) clock.seek(time(event));
      if (event.pointerType === "touch") onTip(null);
    },
    onPointerCancel: () => {
      press.current = null;
      onTip(null);
    },
    onPointerLeave: () => {
      if (!press.current?.moved) onTip(null);
    },
  };
}
