// What happened before a failure, in order: as detected, logged or simulated. An order is no cause.
import type { EpisodeDetail, EventFacts } from "../../api/schema";
import { clockText } from "../../player/clock";
import { eventText } from "../../player/event_words";
import { failureMoment, isLogged } from "./story";

export interface ChainLink {
  timeNs: number;
  text: string;
  /** Where it is known from, and how well. */
  from: string;
  /** How well the time is known; 0 where it was written down. */
  uncertaintyNs: number;
}

const WINDOW_NS = 3e9;
const MOST_LINKS = 8;
// Arms move all the time, and what ends seldom tells how something began.
const leftOut = new Set([
  "motion_begins",
  "motion_ends",
  "base_stops",
  "base_falls",
  "bump_ends",
  "foot_strikes",
]);

/** What a body does when it falls; hands at work say nothing of it. */
const ofFalls = new Set(["base_moves", "foot_leaves", "hand_bumps", "contact_begins"]);

/** The chain of events before the failure, the first of each kind; none where no moment is known. */
export function chainOf(episode: EpisodeDetail, events: EventFacts[]): ChainLink[] {
  const moment = failureMoment(episode);
  if (!moment) return [];
  const isFall = /fall|fell|tip/i.test(episode.row.failure ?? "");
  const telling = events.filter(({ name }) => (isFall ? ofFalls.has(name) : !leftOut.has(name)));
  const links = inOrder(
    [...pushes(episode), ...detected(telling), ...logged(episode)].filter(
      ({ timeNs }) => timeNs < moment.timeNs && timeNs >= moment.timeNs - WINDOW_NS,
    ),
  );
  const first = links.filter(
    ({ text }, place) => links.findIndex((other) => other.text === text) === place,
  );
  return first.slice(0, MOST_LINKS);
}

/**
 * By time; what was written down comes before what was detected in the same moment, as far as the
 * detection tells: smoothing makes a motion begin before its cause.
 */
function inOrder(links: ChainLink[]): ChainLink[] {
  const written = links.filter(({ uncertaintyNs }) => uncertaintyNs === 0);
  const placeOf = ({ timeNs, uncertaintyNs }: ChainLink) =>
    Math.max(
      timeNs,
      ...written.map((each) => each.timeNs).filter((at) => at <= timeNs + uncertaintyNs),
    );
  return [...links].sort(
    (a, b) =>
      placeOf(a) - placeOf(b) ||
      Number(a.uncertaintyNs > 0) - Number(b.uncertaintyNs > 0) ||
      a.timeNs - b.timeNs,
  );
}

/** The time with the digits that are known. */
export function linkTime({ timeNs, uncertaintyNs }: ChainLink): string {
  return uncertaintyNs >= 1e7 ? `≈ ${clockText(timeNs, 2)}` : clockText(timeNs);
}

function detected(events: EventFacts[]): ChainLink[] {
  return events.map((event) => ({
    timeNs: event.time_ns,
    text: eventText(event),
    uncertaintyNs: event.uncertainty_ns,
    from: `detected in ${event.stream}, ± ${(event.uncertainty_ns / 1e9).toFixed(3)} s`,
  }));
}

function logged(episode: EpisodeDetail): ChainLink[] {
  return episode.lanes.flatMap(({ name, items }) =>
    items.filter(isLogged).map(({ label, detail, start_ns }) => ({
      timeNs: start_ns,
      text: detail ? `${label.replaceAll("_", " ")}: ${detail}` : label.replaceAll("_", " "),
      from: `logged in ${name.replaceAll("_", " ")}`,
      uncertaintyNs: 0,
    })),
  );
}

/** The push that a simulation gave the robot: the one cause that is known for certain. */
function pushes(episode: EpisodeDetail): ChainLink[] {
  const { push_ns: impulse, push_time_s: atS } = record(episode.metadata.variation);
  if (typeof atS !== "number" || !Array.isArray(impulse) || impulse.every((part) => part === 0))
    return [];
  return [
    {
      timeNs: Math.round(atS * 1e9) + simulationZero(episode),
      text: "pushed (simulation)",
      from: "known from the simulation",
      uncertaintyNs: 0,
    },
  ];
}

/** The episode's time at which the simulation's clock was zero: an event that both tell of says. */
function simulationZero(episode: EpisodeDetail): number {
  const told = episode.metadata.events;
  if (!Array.isArray(told)) return 0;
  for (const event of told.map(record)) {
    const item = episode.lanes
      .flatMap(({ items }) => items)
      .find(({ label, start_ns, end_ns }) => label === event.name && start_ns === end_ns);
    if (item && typeof event.time_s === "number")
      return item.start_ns - Math.round(event.time_s * 1e9);
  }
  return 0;
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
