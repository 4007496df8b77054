// What the pointer does on the lanes: take hold of a boundary, draw something new, or seek.
import { type PointerEvent, type RefObject, useRef, useState } from "react";
import type { Step } from "../../api/annotation";
import type { Annotation, LabelLane } from "../../api/schema";
import { GUTTER } from "../../plots/draw";
import { timeAt, type ViewWindow } from "../../plots/window";
import { apply } from "./edit";
import { snapped } from "./frame_line";
import { showMoment } from "./play_around";
import { draw, type Edge, moveEdge } from "./segments";
import type { Bench } from "./use_bench";
import { newId } from "./workbook";

const stillPx = 3;
const snapPx = 9;

type Press =
  | { kind: "edge"; id: string; edge: Edge; x: number; moved: boolean }
  | { kind: "draw"; lane: LabelLane; fromNs: number; x: number; moved: boolean; ids: string[] }
  | { kind: "body"; id: string; x: number; moved: boolean }
  | { kind: "seek"; x: number; moved: boolean };

export interface LaneDrag {
  /** The annotation as it would be if the pointer let go now. */
  shown: Annotation;
  listeners: Record<
    "onPointerDown" | "onPointerMove" | "onPointerUp" | "onPointerCancel" | "onPointerLeave",
    (event: PointerEvent<HTMLElement>) => void
  >;
}

export function useLaneDrag(
  bench: Bench,
  view: ViewWindow,
  area: RefObject<HTMLElement | null>,
  onSnap: (timeNs: number | null) => void,
): LaneDrag {
  const press = useRef<Press | null>(null);
  const [steps, setSteps] = useState<Step[] | null>(null);
  const { content, clock, line, taxonomy, canEdit } = bench;
  const width = () => Math.max((area.current?.clientWidth ?? 0) - GUTTER, 1);
  const time = (event: PointerEvent) =>
    timeAt(
      event.clientX - (area.current?.getBoundingClientRect().left ?? 0) - GUTTER,
      view.startNs,
      view.endNs,
      width(),
    );
  /** The boundary under the pointer; an event nearby holds it, unless Alt is pressed. */
  const boundary = (event: PointerEvent): number => {
    const at = time(event);
    const reach = (snapPx / width()) * view.spanNs;
    const near = event.altKey ? null : snapped(at, bench.events, line, reach);
    const found = near ? line.showing(near.time_ns) : line.nearest(at);
    onSnap(near ? found : null);
    return found;
  };
  const stepsAt = (event: PointerEvent, held: Press): Step[] => {
    const to = boundary(event);
    if (held.kind === "edge") {
      const segment = content.segments.find((each) => each.id === held.id);
      const lane = taxonomy.lanes.find((each) => each.name === segment?.lane);
      return segment && lane ? moveEdge(content, lane, segment, held.edge, to, line) : [];
    }
    if (held.kind !== "draw") return [];
    let used = 0;
    const id = () => {
      const made = held.ids[used] ?? newId();
      held.ids[used] = made;
      used += 1;
      return made;
    };
    const label =
      held.lane.labels.find(
        (each) => each.name === bench.segment?.label && bench.segment.lane === held.lane.name,
      ) ?? held.lane.labels[0];
    return label
      ? draw(
          content,
          held.lane,
          label.name,
          Math.min(held.fromNs, to),
          Math.max(held.fromNs, to),
          id,
        )
      : [];
  };
  const end = () => {
    press.current = null;
    setSteps(null);
    onSnap(null);
    view.hover(null);
  };
  return {
    shown: steps?.length ? apply(content, { steps }) : content,
    listeners: {
      onPointerDown: (event) => {
        if (event.button !== 0) return;
        press.current = begun(event, bench, line.nearest(time(event)), canEdit);
        const held = press.current;
        if (held?.kind === "edge") bench.select({ id: held.id, edge: held.edge }, "show");
        if (held?.kind === "draw") bench.setLane(held.lane.name);
      },
      onPointerMove: (event) => {
        const held = press.current;
        const at = time(event);
        view.hover(at >= view.startNs ? at : null);
        if (!held) return;
        if (!held.moved && Math.abs(event.clientX - held.x) > stillPx) {
          held.moved = true;
          event.currentTarget.setPointerCapture(event.pointerId);
        }
        if (!held.moved) return;
        if (held.kind === "seek" || held.kind === "body")
          return showMoment(clock, line.timeOf(line.frameOf(at)));
        setSteps(stepsAt(event, held));
        showMoment(clock, boundary(event));
      },
      onPointerUp: (event) => {
        const held = press.current;
        if (held?.moved && (held.kind === "edge" || held.kind === "draw"))
          commit(bench, held, stepsAt(event, held));
        else if (held?.kind === "body" && !held.moved)
          bench.select({ id: held.id, edge: "start" }, "show");
        else if (held && !held.moved && held.kind !== "edge")
          showMoment(clock, line.timeOf(line.frameOf(time(event))));
        end();
      },
      onPointerCancel: end,
      onPointerLeave: () => {
        if (!press.current) end();
      },
    },
  };
}

function begun(
  event: PointerEvent<HTMLElement>,
  bench: Bench,
  fromNs: number,
  canEdit: boolean,
): Press | null {
  if (!(event.target instanceof Element) || event.target.closest(".event-tick button")) return null;
  const common = { x: event.clientX, moved: false };
  const handle = event.target.closest<HTMLElement>("[data-edge]");
  if (handle && canEdit)
    return {
      kind: "edge",
      id: handle.dataset.of ?? "",
      edge: handle.dataset.edge as Edge,
      ...common,
    };
  const row = event.target.closest<HTMLElement>("[data-lane]");
  const lane = bench.taxonomy.lanes.find((each) => each.name === row?.dataset.lane);
  const body = event.target.closest<HTMLElement>("[data-segment]");
  // What tiles is covered everywhere: there Shift draws over it.
  if (lane && canEdit && (event.shiftKey || !body))
    return { kind: "draw", lane, fromNs, ids: [], ...common };
  if (body) return { kind: "body", id: body.dataset.segment ?? "", ...common };
  return { kind: "seek", ...common };
}

function commit(bench: Bench, held: Press, steps: Step[]): void {
  if (held.kind === "edge") {
    bench.do("drag", steps);
    bench.select({ id: held.id, edge: held.edge }, "show");
    return;
  }
  if (!bench.do("draw", steps)) return;
  const made = steps.at(-1);
  if (made && "put" in made) bench.select({ id: made.put.id, edge: "start" }, "stay");
}
