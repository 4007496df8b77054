// Which streams are plotted: what was found first, then what people look at, or what they chose.
import type { EpisodeDetail, EpisodeFinding, EpisodeStream } from "../api/schema";

export interface Panel {
  stream: EpisodeStream;
  /** What the robot was told, drawn dashed over what it did. */
  commanded: EpisodeStream | null;
}

const MOST_PANELS = 6;
const usual = [
  /^joint_position$/,
  /wrist.*wrench|wrench/,
  /gripper/,
  /imu/,
  /base/,
  /joint_torque/,
];

export function plottable(episode: EpisodeDetail): EpisodeStream[] {
  return episode.streams.filter((each) => each.kind === "array" && each.samples > 0);
}

/** The stream of commands that has the same columns as a stream of measurements. */
export function commandedOf(stream: EpisodeStream, all: EpisodeStream[]): EpisodeStream | null {
  if (stream.group !== "observations") return null;
  const names = ["_target", "_command", "_commanded", "_desired", ""].map(
    (end) => stream.name + end,
  );
  // Tables of one rate have one state and one action.
  if (/^(state|joint_position)$/.test(stream.name)) names.push("action", "actions");
  return (
    all.find(
      (each) =>
        each.group === "actions" &&
        names.includes(each.name) &&
        each.shape.join() === stream.shape.join() &&
        String(each.unit) === String(stream.unit) &&
        String(each.components) === String(stream.components),
    ) ?? null
  );
}

export function panelsOf(paths: string[], episode: EpisodeDetail): Panel[] {
  const all = plottable(episode);
  const streams = paths.flatMap((path) => all.find((each) => each.path === path) ?? []);
  return streams.map((stream) => ({ stream, commanded: commandedOf(stream, all) }));
}

function lasts(finding: EpisodeFinding): number {
  return finding.spans.reduce((sum, span) => sum + span.end_ns - span.start_ns, 0);
}

export function defaultPaths(episode: EpisodeDetail): string[] {
  const all = plottable(episode);
  const chosen: string[] = [];
  const add = (stream: EpisodeStream | undefined) => {
    if (!stream || chosen.includes(stream.path) || chosen.length >= MOST_PANELS) return;
    // Commands are drawn over what they command.
    const measured = all.find((each) => commandedOf(each, all) === stream);
    chosen.push((measured ?? stream).path);
  };
  const moments = episode.findings.filter((each) => each.spans.length && each.severity !== "note");
  // What lasts longest is what happened; what is short is how it showed.
  moments.sort(
    (a, b) => Number(a.severity !== "fail") - Number(b.severity !== "fail") || lasts(b) - lasts(a),
  );
  for (const { stream } of moments.slice(0, 3)) add(all.find((each) => each.path === stream));
  for (const pattern of usual) {
    for (const stream of all.filter((each) => pattern.test(each.name)).slice(0, 2)) add(stream);
  }
  for (const stream of all.slice(0, 3)) if (!chosen.length) add(stream);
  return [...new Set(chosen)];
}

function keyOf(episode: EpisodeDetail): string {
  return `studio.signals.${episode.row.robot ?? ""}.${episode.row.task ?? ""}`;
}

/** The streams chosen for this robot and task before, those that the episode has. */
export function rememberedPaths(episode: EpisodeDetail): string[] | null {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(keyOf(episode)) ?? "null");
    if (!Array.isArray(found)) return null;
    const known = new Set(plottable(episode).map((each) => each.path));
    const paths = found.filter(
      (each): each is string => typeof each === "string" && known.has(each),
    );
    return paths.length || !found.length ? paths : null;
  } catch {
    return null;
  }
}

export function rememberPaths(episode: EpisodeDetail, paths: string[] | null): void {
  try {
    if (paths) localStorage.setItem(keyOf(episode), JSON.stringify(paths));
    else localStorage.removeItem(keyOf(episode));
  } catch {
    // A browser without room for it forgets the choice with the page.
  }
}
