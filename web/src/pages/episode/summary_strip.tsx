import type { EpisodeDetail, EpisodeNote } from "../../api/schema";
import { count } from "../../parts/words";
import "./summary_strip.css";

/** Whether the panel of what is known has something that a visitor should see at once. */
export function hasNews(episode: EpisodeDetail, notes: EpisodeNote[], address: URL): boolean {
  const grave = episode.findings.some(({ severity }) => severity !== "note");
  return grave || notes.length > 0 || address.searchParams.has("tab");
}

/** What is known in one line, where the panel is closed; it opens the panel. */
export function SummaryStrip({ episode, onOpen }: { episode: EpisodeDetail; onOpen: () => void }) {
  const { row, findings, not_assessed, checks, checked } = episode;
  const grave = findings.filter(({ severity }) => severity !== "note").length;
  const notes = findings.length - grave;
  const ran = checks - not_assessed.length;
  const parts = [
    grave ? count(grave, "finding") : checked ? "no findings" : "not checked",
    ...(notes ? [count(notes, "note")] : []),
    ...(row.score === null ? [] : [`score ${row.score.toFixed(2)}`]),
    ...(checked && not_assessed.length ? [`${ran} of ${checks} checks could run`] : []),
    ...(hasCamera(episode) ? [] : ["no camera"]),
  ];
  return (
    <button
      type="button"
      className="summary-strip quiet num"
      title="Show what is known (I)"
      onClick={onOpen}
    >
      {parts.join(" · ")} <span aria-hidden>▸</span>
    </button>
  );
}

export function hasCamera({ streams }: EpisodeDetail): boolean {
  return streams.some(({ kind, samples }) => (kind === "video" || kind === "depth") && samples > 0);
}
