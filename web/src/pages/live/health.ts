// What recorders say of themselves; the same names as in `corporeal.capture.health`.

import type { FloorHealth } from "../floor/floor_state";

export type StreamState = "waiting" | "good" | "slow" | "silent";

export interface StreamHealth {
  path: string;
  /** Recorders of earlier versions do not say it. */
  kind?: string;
  state: StreamState;
  samples: number;
  rate_hz: number;
  nominal_hz: number | null;
  age_s: number | null;
  late: number;
  refused: number;
  reason: string;
  /** How much later than its clock says its samples arrive, and two deviations of that. */
  skew_ms: number | null;
  skew_error_ms?: number | null;
  /** Recorders of earlier versions do not say it. */
  clock?: "estimating" | "known" | "on arrival";
}

export interface Health {
  time_ns: number;
  state: string;
  episode: string;
  episodes: number;
  elapsed_s: number;
  streams: StreamHealth[];
  waiting_bytes: number;
  written_bytes: number;
  slowest_sync_s: number;
  /** Recorders of earlier versions do not say it. */
  unsaved_s?: number;
  disk_free_bytes: number;
  alarms: string[];
  /** What the operator is to do before the next take. */
  asks?: string[];
  /** Groups of cameras that share a trigger. */
  triggers?: { name: string; skew_ms: number | null; missed: Record<string, number> }[];
  /** What the operator's page shows. Recorders of earlier versions do not say it. */
  floor?: FloorHealth;
  /** Station, operator and task, as far as the recorder was told. */
  facts?: Record<string, string>;
  /** None for a station whose calibration names no markers. */
  calibration?: CalibrationHealth | null;
  /** None where no operator was named. While it is halted, no take begins before a break. */
  work?: WorkHealth | null;
}

export interface WorkHealth {
  state: "good" | "due" | "halted";
  worked_min: number;
  day_min: number;
  sentence: string;
  until: string | null;
}

export interface CalibrationHealth {
  reference: string;
  state: "good" | "due" | "overdue" | "halted";
  sentence: string;
  checked_at: string | null;
  due_at: string | null;
  ask: string;
}

export interface Recorder {
  address: string;
  status: "searching" | "connected" | "ended" | "gone";
  sentence: string;
  health: Health | null;
  /** The rate of each stream in the last half minute, the newest last. */
  history: Record<string, number[]>;
  /** What each camera sees, as addresses of pictures. */
  pictures: Record<string, string>;
}

export interface Alarm {
  /** The same while the alarm goes on, whatever its numbers. */
  key: string;
  sentence: string;
  /** What is lost right now is loud; what can wait is told. */
  isLoud: boolean;
  todo: string;
}

const todoStream =
  "Stop the demonstration: what is recorded now lacks this stream. It is taken up again by itself when it comes back.";
const todoDisk = "Free space, or end the recorder and start it again with --out on another disk.";
const todoSlow =
  "What is recorded is whole as long as nothing fails; see what else runs on this machine.";
const todoGone =
  "Look at the terminal in which it runs. What it recorded is safe: after a crash, run corporeal recover on its folder.";
const todoHalted =
  "No episode begins. Fasten what moved and calibrate again, or lift the halt with a reason on the Calibrations page.";
const todoOverdue =
  "Episodes say that nobody checked. Bring the marker into view, all at rest: the recorder looks by itself.";
const todoOther = "The samples that came are recorded; see the table for which stream and why.";

function keyOf(address: string, sentence: string): string {
  return `${address} ${sentence.replace(/[\d.,]+/g, "#")}`;
}

function isDead(stream: StreamHealth, sentence: string): boolean {
  return (
    sentence.startsWith(`${stream.path} `) &&
    (stream.state === "silent" || stream.state === "waiting")
  );
}

/** Everything that is wrong with a recorder, what is loud first. */
export function alarmsOf(recorder: Recorder): Alarm[] {
  const { address, health, status } = recorder;
  if (status === "gone") {
    const sentence = recorder.sentence || `Recorder ${address} is offline.`;
    return [
      {
        key: `${address} gone`,
        sentence: sentence.replace(address, nameOf(recorder)),
        isLoud: true,
        todo: todoGone,
      },
    ];
  }
  const found = (health?.alarms ?? []).map((sentence): Alarm => {
    const key = keyOf(address, sentence);
    if (health?.streams.some((stream) => isDead(stream, sentence)))
      return { key, sentence, isLoud: true, todo: todoStream };
    if (sentence === health?.calibration?.sentence) {
      const isHalted = health.calibration.state === "halted";
      return { key, sentence, isLoud: isHalted, todo: isHalted ? todoHalted : todoOverdue };
    }
    if (sentence.includes("left on the disk"))
      return { key, sentence, isLoud: true, todo: todoDisk };
    if (sentence.startsWith("samples waited "))
      return { key, sentence, isLoud: true, todo: todoSlow };
    return { key, sentence, isLoud: false, todo: todoOther };
  });
  return found.sort((a, b) => Number(b.isLoud) - Number(a.isLoud));
}

/** What people call a recorder: station, operator and task; its address where it was told none. */
export function nameOf({ health, address }: Recorder): string {
  const { station, operator, task } = health?.facts ?? {};
  return [station, operator, task].filter(Boolean).join(" · ") || address;
}

/** A sentence without the durations and counts in it, which change all the time; names stay. */
export function withoutNumbers(sentence: string): string {
  return sentence
    .replace(/ (?:for )?\d[\d.,]* (?:s|GB)\b/g, "")
    .replace(/: \d[\d,]* (?=samples )/g, ": ");
}

/** One sentence, with one full stop. */
export function stopped(sentence: string): string {
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** "+0.4 ms ± 0.9"; what is not known is said, and a raw offset of a clock is never shown. */
export function skewText(stream: StreamHealth): string {
  if (!stream.samples) return "";
  if (stream.clock === "on arrival") return "stamped on arrival";
  if (stream.clock !== "known" || stream.skew_ms === null)
    return stream.clock === undefined ? "" : "estimating…";
  const sign = stream.skew_ms < 0 ? "−" : "+";
  const error = stream.skew_error_ms ?? 0;
  return `${sign}${Math.abs(stream.skew_ms).toFixed(1)} ms ± ${error.toFixed(1)}`;
}

export function bytesText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = bytes;
  let place = 0;
  while (value >= 1000 && place < units.length - 1) {
    value /= 1000;
    place += 1;
  }
  return `${value >= 100 || place === 0 ? value.toFixed(0) : value.toFixed(1)} ${units[place]}`;
}

/** 75 s is 1:15. */
export function elapsedText(seconds: number): string {
  const whole = Math.floor(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  const rest = String(whole % 60).padStart(2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}
