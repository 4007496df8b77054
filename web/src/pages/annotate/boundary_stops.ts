// The boundaries to look at, in the order in which they are gone through.
import type { Annotation, Segment, Taxonomy } from "../../api/schema";
import type { Edge } from "./segments";

export interface Stop {
  id: string;
  lane: string;
  edge: Edge;
  timeNs: number;
  confirmed: boolean;
}

/** Each phase is looked at where it begins; what does not tile, where it begins and where it ends. */
export function stopsOf(content: Annotation, taxonomy: Taxonomy): Stop[] {
  const order = new Map(
    taxonomy.lanes.map((lane, place) => [lane.name, { place, tiles: lane.tiles }]),
  );
  const stop = (each: Segment, edge: Edge): Stop => ({
    id: each.id,
    lane: each.lane,
    edge,
    timeNs: edge === "start" ? each.start_ns : each.end_ns,
    confirmed: each.confirmed,
  });
  const stops = content.segments.flatMap((each) => {
    const isOpen = !order.get(each.lane)?.tiles && each.end_ns > each.start_ns;
    return isOpen ? [stop(each, "start"), stop(each, "end")] : [stop(each, "start")];
  });
  const lane = (each: Stop) => order.get(each.lane)?.place ?? order.size;
  // Lane by lane: one rule at a time is easier to keep in mind than five.
  return stops.sort((a, b) => lane(a) - lane(b) || a.timeNs - b.timeNs || (a.id < b.id ? -1 : 1));
}

export function isSame(
  one: { id: string; edge: Edge } | null,
  other: { id: string; edge: Edge },
): boolean {
  return one?.id === other.id && one.edge === other.edge;
}

/** The next boundary that nobody has confirmed, after the given one; the first where there is none behind. */
export function nextOpen(
  stops: readonly Stop[],
  from: { id: string; edge: Edge } | null,
): Stop | null {
  const place = from ? stops.findIndex((each) => isSame(from, each)) : -1;
  const open = (each: Stop) => !each.confirmed && each.id !== from?.id;
  return stops.slice(place + 1).find(open) ?? stops.find(open) ?? null;
}

export function beside(
  stops: readonly Stop[],
  from: { id: string; edge: Edge } | null,
  direction: 1 | -1,
  timeNs: number,
): Stop | null {
  const place = from ? stops.findIndex((each) => isSame(from, each)) : -1;
  if (place >= 0) return stops[place + direction] ?? null;
  const ahead = stops.filter((each) => (each.timeNs - timeNs) * direction > 0);
  return ahead.sort((a, b) => (a.timeNs - b.timeNs) * direction)[0] ?? null;
}
