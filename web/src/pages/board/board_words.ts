// What the board says of stations: the catalogue's facts and the recorders' own words as one.
import { browseAddress } from "../../api/dashboards";
import type { BoardFacts, BoardStationFacts, CampaignLine } from "../../api/schema";
import { barOf, type Colour, floorOf, type Lamp, lampsOf, stationOf } from "../floor/floor_state";
import { alarmsOf, type Recorder, type WorkHealth } from "../live/health";

export interface Tile {
  name: string;
  facts: BoardStationFacts | null;
  recorder: Recorder | null;
}

export type Look = "good" | "warn" | "bad" | "plain";

export interface Said {
  words: string;
  look: Look;
}

/** One alarm with the page that shows why. */
export interface BoardLine {
  key: string;
  station: string | null;
  sentence: string;
  address: string;
  evidence: string;
  isLoud: boolean;
}

/** Every station once: those that the catalogue knows, and those whose recorder speaks now. */
export function tilesOf(facts: BoardFacts, recorders: Recorder[]): Tile[] {
  const heard = recorders.filter(({ health }) => health !== null);
  const names = new Set([...facts.stations.map(({ name }) => name), ...heard.map(stationOf)]);
  const atWork = (name: string) => {
    const mine = heard.filter((each) => stationOf(each) === name);
    return mine.find(({ status }) => status === "connected") ?? mine[0] ?? null;
  };
  return [...names]
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }))
    .map((name) => ({
      name,
      facts: facts.stations.find((station) => station.name === name) ?? null,
      recorder: atWork(name),
    }));
}

/** What a station does now: a word and how it looks; a bar that is green records. */
export function doesOf({ recorder }: Tile): { text: string; colour: Colour | "amber" } {
  if (!recorder) return { text: "No recorder", colour: "grey" };
  const { text, colour } = barOf(recorder);
  const words = text.charAt(0) + text.slice(1).toLowerCase();
  if (text === "BREAK") return { text: words, colour: "amber" };
  const isEmpty = text === "READY" && !recorder.health?.facts?.operator;
  return { text: isEmpty ? "Nobody here" : words, colour };
}

/** Who is there, where names may be shown to whoever looks. */
export function whoOf(tile: Tile, facts: BoardFacts): string | null {
  const live = tile.recorder?.status === "connected" ? tile.recorder.health?.facts : undefined;
  if (live) {
    const name = live.operator ?? null;
    return facts.people || (name !== null && name === facts.me) ? name : null;
  }
  return null;
}

export function taskOf(tile: Tile): string | null {
  const task = tile.recorder?.health?.facts?.task ?? tile.facts?.task ?? null;
  return task?.replaceAll("_", " ") ?? null;
}

/** "12.4 an hour", and how that is beside the target. */
export function rateOf(perHour: number | null | undefined, target: number | null): Said {
  if (perHour === null || perHour === undefined) return { words: "no rate yet", look: "plain" };
  const words = `${perHour.toFixed(1)} an hour`;
  if (target === null) return { words, look: "plain" };
  return { words, look: perHour >= target ? "good" : perHour >= 0.8 * target ? "warn" : "bad" };
}

/** When the next break is due, or until when one lasts. */
export function breakOf(work: WorkHealth | null | undefined): Said {
  if (!work) return { words: "nobody at work", look: "plain" };
  if (work.state === "halted") {
    const until = work.until?.slice(11, 16);
    return { words: until ? `break until ${until}` : "enough for today", look: "warn" };
  }
  if (work.state === "due") return { words: work.sentence.split(":")[0] ?? "", look: "warn" };
  const minutes = Math.round(work.worked_min);
  return { words: minutes ? `${minutes} min at work` : "rested", look: "plain" };
}

/** How old the last check of the calibration is. */
export function calibrationOf(tile: Tile, now: string): Said {
  const live = tile.recorder?.health?.calibration;
  const at = live?.checked_at ?? tile.facts?.checked_at ?? null;
  const state = tile.facts?.calibration_state === "creeps" ? "creeps" : live?.state;
  const known = state ?? tile.facts?.calibration_state ?? null;
  if (known === "halted") return { words: "calibration halted", look: "bad" };
  const age = at ? `check ${ageText(at, Date.parse(now))}` : "never checked";
  if (known === "creeps") return { words: "camera creeps", look: "bad" };
  return { words: age, look: known === "good" ? "plain" : at && known === null ? "plain" : "warn" };
}

/** "45 min ago", and hours from one hour on: a tile is narrow. */
function ageText(at: string, now: number): string {
  const minutes = Math.max(0, Math.round((now - Date.parse(at)) / 60_000));
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${Math.round(hours / 24)} days ago`;
}

/** What its campaign still lacks, or what is left of the plan of its day. */
export function leftOf({ facts, recorder }: Tile): string | null {
  const { plan, today, card } = floorOf(recorder?.health ?? null);
  if (plan !== null) return `${Math.max(0, plan - today)} left today`;
  const left = facts?.left ?? (card ? card.planned - card.number + 1 : null);
  const campaign = (facts?.campaign ?? card?.campaign)?.replaceAll("_", " ");
  return left === null ? null : `${left} left in ${campaign}`;
}

export function lampsOfTile({ recorder }: Tile): Lamp[] {
  if (!recorder?.health) return [];
  return lampsOf(recorder.health, recorder.status === "connected");
}

/** All alarms, what is lost right now first; the episodes behind one are its evidence. */
export function linesOf(facts: BoardFacts, recorders: Recorder[]): BoardLine[] {
  const live = recorders.flatMap((recorder) =>
    alarmsOf(recorder).map(({ key, sentence, isLoud }) => ({
      key,
      station: stationOf(recorder),
      sentence: sentence.replace(`Recorder ${namePart(recorder)}`, "Its recorder"),
      address: "/live",
      evidence: "See it live",
      isLoud,
    })),
  );
  const kept = facts.alarms.map(({ kind, station, sentence, link, query, at }) => {
    const episodes = kind === "figure" ? browseAddress(query) : null;
    return {
      key: `${kind} ${station} ${at} ${sentence}`,
      station,
      sentence,
      address: episodes ?? link,
      evidence: episodes ? "Its episodes" : kind === "figure" ? "Its chart" : "Its checks",
      isLoud: kind === "halt",
    };
  });
  return [...live, ...kept].sort((a, b) => Number(b.isLoud) - Number(a.isLoud));
}

function namePart({ health, address }: Recorder): string {
  const { station, operator, task } = health?.facts ?? {};
  return [station, operator, task].filter(Boolean).join(" · ") || address;
}

/** "4.20 EUR". */
export function moneyText(value: number, currency: string): string {
  return `${value.toFixed(2)} ${currency}`;
}

/** "done in 12 (9 to 15) working days"; empty where nobody can tell. */
export function doneText({ days_left, days_low, days_high }: CampaignLine): string {
  if (days_left === null || days_low === null) return "";
  const bounds = days_high === null ? `${days_low} or many more` : `${days_low} to ${days_high}`;
  return `done in ${Math.max(1, Math.round(days_left))} (${bounds}) working days`;
}
