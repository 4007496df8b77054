// Everything that a key or a button does on the workbench.

import { beside, nextOpen, stopsOf } from "./boundary_stops";
import { snapped } from "./frame_line";
import { showMoment, stopLooking } from "./play_around";
import {
  beginAt,
  confirm,
  type Edge,
  inLane,
  mergeNext,
  moveEdge,
  relabel,
  remove,
  segmentAt,
  split,
} from "./segments";
import type { Bench } from "./use_bench";
import { newId } from "./workbook";

function laneOf(bench: Bench, name: string) {
  return bench.taxonomy.lanes.find((each) => each.name === name) ?? bench.lane;
}

/** The boundaries as they are after what was just done. */
function stopsNow(bench: Bench) {
  return stopsOf(bench.book.content, bench.taxonomy);
}

/** Confirm what is selected and go to the next boundary that nobody has confirmed. */
export function accept(bench: Bench): void {
  const { segment, selected } = bench;
  if (segment && selected) {
    const hasEnd = !laneOf(bench, segment.lane).tiles && segment.end_ns > segment.start_ns;
    if (!segment.confirmed && hasEnd && selected.edge === "start") {
      bench.select({ id: segment.id, edge: "end" }, "play");
      return;
    }
    bench.do("accept", confirm(segment));
  }
  const next = nextOpen(stopsNow(bench), selected);
  if (next) bench.select(next, "play");
  else bench.select(null);
}

export function goTo(bench: Bench, direction: 1 | -1): void {
  const next = beside(bench.stops, bench.selected, direction, bench.clock.timeNs);
  if (next) bench.select(next, "show");
}

/** Move the selected boundary to a time; the pictures follow it. */
export function moveTo(bench: Bench, timeNs: number, action = "drag", edge?: Edge): void {
  const { segment, selected, content, line } = bench;
  if (!segment || !selected) return;
  const side = edge ?? selected.edge;
  if (
    !bench.do(action, moveEdge(content, laneOf(bench, segment.lane), segment, side, timeNs, line))
  )
    return;
  const moved = bench.book.content.segments.find((each) => each.id === segment.id);
  if (moved) showMoment(bench.clock, side === "start" ? moved.start_ns : moved.end_ns);
}

export function nudge(bench: Bench, frames: number): void {
  const { segment, selected, line } = bench;
  if (!segment || !selected) return;
  moveTo(
    bench,
    line.moved(selected.edge === "start" ? segment.start_ns : segment.end_ns, frames),
    "nudge",
  );
}

/** Put the selected boundary where the nearest event asks for it. */
export function snapToEvent(bench: Bench): void {
  const { segment, selected, line, events } = bench;
  if (!segment || !selected) return;
  const event = snapped(
    selected.edge === "start" ? segment.start_ns : segment.end_ns,
    events,
    line,
    Number.POSITIVE_INFINITY,
  );
  if (event) moveTo(bench, line.showing(event.time_ns), "snap");
}

/** The time of the picture on the screen: where something new begins. */
function nowNs({ clock, line }: Bench): number {
  return line.timeOf(line.frameOf(clock.timeNs));
}

/** A label for what is selected; with nothing selected it begins at the picture on the screen. */
export function setLabel(bench: Bench, name: string): void {
  const { segment, lane, content, line } = bench;
  if (segment && segment.lane === lane.name) {
    bench.do("relabel", relabel(segment, name, lane));
    return;
  }
  bench.do("begin", beginAt(content, lane, name, nowNs(bench), newId(), line));
}

export function splitHere(bench: Bench): void {
  const now = nowNs(bench);
  const chosen = bench.segment?.lane === bench.lane.name ? [bench.segment] : [];
  const there = segmentAt([...chosen, ...inLane(bench.content, bench.lane.name)], now);
  const id = newId();
  stopLooking(bench.clock);
  if (there && bench.do("split", split(there, nowNs(bench), id)))
    bench.select({ id, edge: "start" }, "show");
}

export function mergeOn(bench: Bench): void {
  const { segment, content } = bench;
  if (segment) bench.do("merge", mergeNext(content, laneOf(bench, segment.lane), segment));
}

/** Take the selected segment away and go on with the boundary after it. */
export function removeSelected(bench: Bench): void {
  const { segment, selected, stops } = bench;
  if (!segment || !selected) return;
  const next = beside(
    stops.filter((each) => each.id !== segment.id || each.edge === selected.edge),
    selected,
    1,
    segment.start_ns,
  );
  if (!bench.do("remove", remove(bench.content, laneOf(bench, segment.lane), segment))) return;
  bench.select(next && next.id !== segment.id ? next : null, "show");
}

export function changeLane(bench: Bench, direction: 1 | -1): void {
  const { lanes } = bench.taxonomy;
  const place = lanes.findIndex((each) => each.name === bench.lane.name);
  const next = lanes[(place + direction + lanes.length) % lanes.length];
  if (!next) return;
  bench.select(null);
  bench.setLane(next.name);
}

/** Go to the next event that signals show. */
export function toEvent(bench: Bench, direction: 1 | -1): void {
  const times = bench.events
    .map((each) => bench.line.showing(each.time_ns))
    .filter((each) => (each - bench.clock.timeNs) * direction > 0);
  if (times.length)
    showMoment(bench.clock, direction > 0 ? Math.min(...times) : Math.max(...times));
}
