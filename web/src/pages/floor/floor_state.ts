// What the floor's page says of a recorder, in words that are read from three metres.
import { count } from "../../parts/words";
import {
  alarmsOf,
  elapsedText,
  type Health,
  type Recorder,
  type StreamHealth,
} from "../live/health";

export interface Take {
  name: string;
  state: "recording" | "ending" | "open" | "writing" | "checking" | "done";
  seconds: number;
  outcome: string | null;
  is_discarded: boolean;
  verdict: string | null;
  words: string;
  /** One thing to do otherwise next time; recorders of earlier versions do not say it. */
  suggestion?: string;
  rules?: Rule[];
}

/** One rule of the protocol in a take: kept, broken, or null where nobody can tell. */
export interface Rule {
  name: string;
  kept: boolean | null;
  message: string;
}

/** What one episode of a campaign is to be. */
export interface EpisodeCard {
  id: string;
  campaign: string;
  number: number;
  planned: number;
  levels: Record<string, string>;
  instruction: string;
  prohibited: string[];
  changes: string[];
  asked: { object_xyz: [number, number, number]; object_yaw_rad: number } | null;
  values: Record<string, Record<string, number>>;
  places: { level: string; x_m: number; y_m: number; radius_m: number }[];
  place: string | null;
}

/** What the operator is to see; recorders of earlier versions do not say it. */
export interface FloorHealth {
  instruction: string;
  questions: string[];
  failures: string[];
  starts_by: "key" | "motion" | "auto";
  plan: number | null;
  today: number;
  discarded_today: number;
  takes: Take[];
  card?: EpisodeCard | null;
  no_card?: string;
}

export type Colour = "grey" | "green" | "red";

export interface Bar {
  colour: Colour;
  text: string;
  /** The sentence below: what is wrong, or what to do. */
  sentence: string;
}

export const noFloor: FloorHealth = {
  instruction: "",
  questions: [],
  failures: [],
  starts_by: "auto",
  plan: null,
  today: 0,
  discarded_today: 0,
  takes: [],
};

export function floorOf(health: Health | null): FloorHealth {
  return health?.floor ?? noFloor;
}

/** The take that people may still speak of. */
export function openTake(recorder: Recorder): Take | null {
  const [latest] = floorOf(recorder.health).takes;
  if (recorder.status !== "connected" || !latest) return null;
  return ["recording", "ending", "open"].includes(latest.state) ? latest : null;
}

export function barOf(recorder: Recorder): Bar {
  const { health, status, sentence } = recorder;
  if (status === "ended" || health?.state === "ended")
    return {
      colour: "grey",
      text: "ENDED",
      sentence: `The recorder ended after ${count(health?.episodes ?? 0, "episode")}.`,
    };
  if (status !== "connected" || !health) return { colour: "red", text: "OFFLINE", sentence };
  const take = openTake(recorder);
  if (health.calibration?.state === "halted" && !take)
    return {
      colour: "red",
      text: "HALTED",
      sentence: "A check of the calibration failed: no take begins until it is fixed.",
    };
  if (health.work?.state === "halted" && !take)
    return { colour: "red", text: "BREAK", sentence: health.work.sentence };
  const loud = alarmsOf(recorder).find((alarm) => alarm.isLoud);
  const isRecording = take?.state === "recording";
  const text = isRecording
    ? `RECORDING ${elapsedText(take.seconds)}`
    : take
      ? openText(take)
      : "READY";
  if (loud) return { colour: "red", text: take ? text : "PROBLEM", sentence: loud.sentence };
  if (isRecording) return { colour: "green", text, sentence: "" };
  if (take) return { colour: "grey", text, sentence: askFor(take) };
  return { colour: "grey", text, sentence: startsText(floorOf(health)) };
}

function openText({ state, outcome, is_discarded }: Take): string {
  if (is_discarded) return "DISCARDED";
  if (state === "ending") return "KEEP STILL";
  return outcome === null ? "SUCCESS OR FAILED?" : "ANSWER";
}

function askFor(take: Take): string {
  if (take.is_discarded) return "Discarded: it is kept apart.";
  if (take.outcome === "success") return "Success.";
  if (take.outcome !== null) return "Failed: say why, if you can.";
  return "Success or failed?";
}

/** How a take begins here. */
function startsText({ starts_by }: FloorHealth): string {
  if (starts_by === "key") return "";
  return starts_by === "motion"
    ? "A take begins by itself when the robot moves."
    : "Takes begin and end by themselves.";
}

/** "12 of 50 today", "12 today". */
export function countText({ today, plan }: FloorHealth): string {
  return plan === null ? `${today} today` : `${today} of ${plan} today`;
}

export interface Lamp {
  name: string;
  state: "good" | "warn" | "bad" | "none";
  words: string;
}

export function lampsOf(health: Health, isThere: boolean): Lamp[] {
  if (!isThere)
    return ["Cameras", "Robot", "Clock"].map((name) => ({ name, state: "none", words: "off" }));
  const isCamera = ({ kind }: StreamHealth) => kind === "video" || kind === "depth";
  const signals = health.streams.filter((each) => !isCamera(each) && each.nominal_hz !== null);
  return [
    lampOf("Cameras", health.streams.filter(isCamera)),
    lampOf("Robot", signals),
    clockLamp(health),
  ];
}

function lampOf(name: string, streams: StreamHealth[]): Lamp {
  if (!streams.length) return { name, state: "none", words: "none here" };
  const of = (...states: StreamHealth["state"][]) =>
    streams.filter(({ state }) => states.includes(state)).map(({ path }) => shortName(path));
  const dead = of("silent");
  if (dead.length) return { name, state: "bad", words: `dead: ${dead.join(", ")}` };
  const late = of("slow", "waiting");
  if (late.length) return { name, state: "warn", words: `slow or missing: ${late.join(", ")}` };
  return { name, state: "good", words: count(streams.length, "stream") };
}

function clockLamp({ streams, alarms }: Health): Lamp {
  const name = "Clock";
  const moved = alarms.find((alarm) => alarm.includes("its clock was set"));
  if (moved) return { name, state: "bad", words: shortName(moved.split(":")[0] ?? "") };
  const timed = streams.filter(({ samples }) => samples > 0);
  if (!timed.length) return { name, state: "none", words: "no samples yet" };
  if (timed.some(({ clock }) => clock === "estimating"))
    return { name, state: "warn", words: "being estimated" };
  const errors = timed.flatMap(({ skew_error_ms }) => skew_error_ms ?? []);
  if (!errors.length) return { name, state: "none", words: "stamped on arrival" };
  return { name, state: "good", words: `± ${Math.max(...errors).toFixed(1)} ms` };
}

/** "head left" of observations/head_left. */
export function shortName(path: string): string {
  return (path.split("/").pop() ?? path).replaceAll("_", " ");
}

/** The verdict of a take in a few words, and how it is to look. */
export function verdictOf(take: Take): { look: "good" | "warn" | "bad" | "wait"; words: string } {
  if (take.state !== "done") {
    const said = {
      recording: "recording",
      ending: "ending",
      open: "open",
      writing: "writing",
      checking: "checking",
    };
    return { look: "wait", words: `${said[take.state]}…` };
  }
  if (take.is_discarded)
    return { look: "warn", words: take.words || "discarded: kept, and held back" };
  const look = take.verdict === "accepted" ? "good" : take.verdict === "failed" ? "bad" : "warn";
  const isFailureOfTask = take.words.startsWith("kept as a failure");
  return { look: isFailureOfTask ? "warn" : look, words: take.words || "not checked" };
}

/** "12 of 14 rules kept", and those that were broken; null where none could be judged. */
export function rulesOf(take: Take): { words: string; broken: Rule[] } | null {
  const judged = (take.rules ?? []).filter(({ kept }) => kept !== null);
  if (!judged.length || take.state !== "done") return null;
  const broken = judged.filter(({ kept }) => !kept);
  return { words: `${judged.length - broken.length} of ${judged.length} rules kept`, broken };
}

/** The recorder that is shown: of the remembered station, else the only one; null: somebody has to
 * choose. One that is at work comes before one of the same station that has ended. */
export function chosen(recorders: Recorder[], remembered: string): Recorder | null {
  const atWork = recorders.filter(({ status }) => status === "connected");
  const mine = (each: Recorder) => stationOf(each) === remembered;
  if (remembered) return atWork.find(mine) ?? recorders.find(mine) ?? null;
  const all = atWork.length ? atWork : recorders;
  return all.length === 1 ? (all[0] ?? null) : null;
}

/** What a station is remembered by: its name, where the recorder was told one. */
export function stationOf({ address, health }: Recorder): string {
  return health?.facts?.station ?? address;
}
