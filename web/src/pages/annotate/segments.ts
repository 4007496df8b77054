// What people do to segments, as steps of an edit. Labels of a lane that exclude each other never
// overlap, and in a lane that tiles two neighbours share their boundary: it is moved for both.
import type { Step } from "../../api/annotation";
import type { Annotation, LabelLane, Segment } from "../../api/schema";
import type { FrameLine } from "./frame_line";

export type Edge = "start" | "end";

export function inLane(content: Annotation, lane: string): Segment[] {
  return content.segments
    .filter((each) => each.lane === lane)
    .sort((a, b) => a.start_ns - b.start_ns || a.end_ns - b.end_ns || (a.id < b.id ? -1 : 1));
}

/** What cannot hold together with a label: contacts of other labels can, all else excludes it. */
export function besideLabel(content: Annotation, lane: LabelLane, label: string): Segment[] {
  const all = inLane(content, lane.name);
  return lane.kind === "contact" ? all.filter((each) => each.label === label) : all;
}

/** The row of every label: where contacts of two labels meet, each label has one of its own. */
export function rowsOf(lane: LabelLane, segments: readonly Segment[]): Map<string, number> {
  const meet = segments.some((one) =>
    segments.some(
      (other) =>
        one.label !== other.label && one.start_ns < other.end_ns && other.start_ns < one.end_ns,
    ),
  );
  const there = lane.labels
    .map(({ name }) => name)
    .filter((name) => segments.some(({ label }) => label === name));
  return new Map(there.map((name, place) => [name, lane.kind === "contact" && meet ? place : 0]));
}

export function segmentAt(segments: readonly Segment[], timeNs: number): Segment | null {
  return segments.find((each) => each.start_ns <= timeNs && timeNs < each.end_ns) ?? null;
}

export function newSegment(
  id: string,
  lane: string,
  label: string,
  startNs: number,
  endNs: number,
): Segment {
  return {
    id,
    lane,
    label,
    start_ns: startNs,
    end_ns: endNs,
    attributes: {},
    source: "person",
    confirmed: true,
    confidence: null,
  };
}

function neighbours(
  content: Annotation,
  lane: LabelLane,
  segment: Segment,
): { before: Segment | null; after: Segment | null } {
  const all = besideLabel(content, lane, segment.label);
  const place = all.findIndex((each) => each.id === segment.id);
  return { before: all[place - 1] ?? null, after: all[place + 1] ?? null };
}

/** Move one edge to a boundary, as far as there is room; a neighbour that touches it follows. */
export function moveEdge(
  content: Annotation,
  lane: LabelLane,
  segment: Segment,
  edge: Edge,
  timeNs: number,
  line: FrameLine,
): Step[] {
  const { before, after } = neighbours(content, lane, segment);
  const other = edge === "start" ? before : after;
  const touching =
    lane.tiles &&
    other &&
    (edge === "start" ? other.end_ns === segment.start_ns : other.start_ns === segment.end_ns);
  const isMoment = segment.start_ns === segment.end_ns;
  const far =
    other === null
      ? edge === "start"
        ? line.firstNs
        : line.endNs
      : edge === "start"
        ? touching
          ? line.moved(other.start_ns, 1)
          : other.end_ns
        : touching
          ? line.moved(other.end_ns, -1)
          : other.start_ns;
  const own = isMoment
    ? null
    : edge === "start"
      ? line.moved(segment.end_ns, -1)
      : line.moved(segment.start_ns, 1);
  const wanted = line.nearest(timeNs);
  const to =
    edge === "start"
      ? Math.max(Math.min(wanted, own ?? line.endNs), far)
      : Math.min(Math.max(wanted, own ?? line.firstNs), far);
  if (to === (edge === "start" ? segment.start_ns : segment.end_ns)) return [];
  const moved = isMoment
    ? { start_ns: to, end_ns: to }
    : edge === "start"
      ? { start_ns: to }
      : { end_ns: to };
  const steps: Step[] = [{ put: { ...segment, ...moved } }];
  if (touching)
    steps.push({ put: { ...other, ...(edge === "start" ? { end_ns: to } : { start_ns: to }) } });
  return steps;
}

/** Cut a segment in two; the second part is new. */
export function split(segment: Segment, timeNs: number, id: string, label = segment.label): Step[] {
  if (timeNs <= segment.start_ns || timeNs >= segment.end_ns) return [];
  const attributes = label === segment.label ? segment.attributes : {};
  return [
    { put: { ...segment, end_ns: timeNs } },
    { put: { ...newSegment(id, segment.lane, label, timeNs, segment.end_ns), attributes } },
  ];
}

/** Let something begin at a moment: it lasts until the next one begins, or to the end. */
export function beginAt(
  content: Annotation,
  lane: LabelLane,
  label: string,
  timeNs: number,
  id: string,
  line: FrameLine,
): Step[] {
  const all = besideLabel(content, lane, label);
  const there = segmentAt(all, timeNs);
  if (there && there.start_ns === timeNs) return relabel(there, label, lane);
  if (there && lane.tiles) return split(there, timeNs, id, label);
  if (there) return [];
  if (timeNs >= line.endNs) return [];
  const next = all.find((each) => each.start_ns > timeNs);
  const room = next?.start_ns ?? line.endNs;
  const end = lane.tiles ? room : Math.min(room, line.moved(timeNs, usualFrames));
  return [{ put: newSegment(id, lane.name, label, timeNs, end) }];
}

/** Frames that something new in a lane that does not tile lasts, until it is dragged. */
const usualFrames = 15;

/** Put a segment where it was drawn: over what tiles, or into the gap where it was begun. */
export function draw(
  content: Annotation,
  lane: LabelLane,
  label: string,
  fromNs: number,
  toNs: number,
  id: () => string,
): Step[] {
  if (toNs <= fromNs) return [];
  const all = besideLabel(content, lane, label);
  if (!lane.tiles) {
    const before = all.filter((each) => each.start_ns <= fromNs).at(-1);
    const after = all.find((each) => each.start_ns > fromNs);
    const from = Math.max(fromNs, before?.end_ns ?? fromNs);
    const to = Math.min(toNs, after?.start_ns ?? toNs);
    return to > from ? [{ put: newSegment(id(), lane.name, label, from, to) }] : [];
  }
  const steps: Step[] = [];
  for (const each of all) {
    if (each.end_ns <= fromNs || each.start_ns >= toNs) continue;
    const [left, right] = [each.start_ns < fromNs, each.end_ns > toNs];
    if (left) steps.push({ put: { ...each, end_ns: fromNs } });
    if (right) steps.push({ put: { ...each, id: left ? id() : each.id, start_ns: toNs } });
    if (!left && !right) steps.push({ drop: each.id });
  }
  return [...steps, { put: newSegment(id(), lane.name, label, fromNs, toNs) }];
}

/** Another label; of what was said of it stays what the new label asks for. */
export function relabel(segment: Segment, label: string, lane: LabelLane): Step[] {
  if (segment.label === label) return [];
  const asked = lane.labels.find((each) => each.name === label)?.attributes ?? [];
  const attributes = Object.fromEntries(
    Object.entries(segment.attributes).filter(([name]) => asked.includes(name)),
  );
  return [{ put: { ...segment, label, attributes } }];
}

/** Take a segment away; in a lane that tiles the one before it, else the one after, fills the gap. */
export function remove(content: Annotation, lane: LabelLane, segment: Segment): Step[] {
  const { before, after } = neighbours(content, lane, segment);
  const steps: Step[] = [{ drop: segment.id }];
  if (!lane.tiles) return steps;
  if (before?.end_ns === segment.start_ns)
    steps.push({ put: { ...before, end_ns: segment.end_ns } });
  else if (after?.start_ns === segment.end_ns)
    steps.push({ put: { ...after, start_ns: segment.start_ns } });
  return steps;
}

/** Join a segment with the one after it, under its own label. */
export function mergeNext(content: Annotation, lane: LabelLane, segment: Segment): Step[] {
  const { after } = neighbours(content, lane, segment);
  if (!after) return [];
  return [{ drop: after.id }, { put: { ...segment, end_ns: after.end_ns } }];
}

export function confirm(segment: Segment): Step[] {
  return segment.confirmed ? [] : [{ put: { ...segment, confirmed: true } }];
}

export function say(segment: Segment, name: string, value: Segment["attributes"][string]): Step[] {
  if ((segment.attributes[name] ?? null) === value) return [];
  const attributes = { ...segment.attributes, [name]: value };
  if (value === null || value === "") delete attributes[name];
  return [{ put: { ...segment, attributes } }];
}
