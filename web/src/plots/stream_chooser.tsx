import { useMemo, useState } from "react";
import type { EpisodeDetail, EpisodeStream } from "../api/schema";
import { Dialog } from "../parts/dialog";
import { columnNames } from "./column_groups";
import { plottable } from "./panels";

export interface StreamChooserProps {
  episode: EpisodeDetail;
  paths: string[];
  onChange: (paths: string[] | null) => void;
  onClose: () => void;
}

const groups: { name: EpisodeStream["group"]; title: string }[] = [
  { name: "observations", title: "Observations" },
  { name: "actions", title: "Actions" },
  { name: "debug", title: "Debug" },
];

function matches(stream: EpisodeStream, text: string): boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const all = [stream.path, stream.description ?? "", ...columnNames(stream)]
    .join(" ")
    .toLowerCase()
    .replaceAll("_", " ");
  return words.every((word) => all.includes(word.replaceAll("_", " ")));
}

/** Which streams are plotted: searched by name, column or description. */
export function StreamChooser({ episode, paths, onChange, onClose }: StreamChooserProps) {
  const [text, setText] = useState("");
  const all = useMemo(() => plottable(episode), [episode]);
  const found = all.filter((each) => matches(each, text));
  const marked = new Set(episode.findings.map((each) => each.stream));
  const toggle = (path: string) =>
    onChange(paths.includes(path) ? paths.filter((each) => each !== path) : [...paths, path]);
  return (
    <Dialog title="Plotted streams" onClose={onClose}>
      <div className="chooser">
        <input
          type="search"
          aria-label="Search streams"
          placeholder="Search by name, joint or unit"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        {!found.length && (
          <p className="muted">No stream is called so. Clear the search to see all {all.length}.</p>
        )}
        {groups.map(({ name, title }) => {
          const list = found.filter((each) => each.group === name);
          if (!list.length) return null;
          return (
            <fieldset key={name}>
              <legend>{title}</legend>
              {list.map((stream) => (
                <label key={stream.path}>
                  <input
                    type="checkbox"
                    checked={paths.includes(stream.path)}
                    onChange={() => toggle(stream.path)}
                  />
                  <span>{stream.name.replaceAll("_", " ")}</span>
                  {marked.has(stream.path) && <span className="chip quarantine">finding</span>}
                  <span className="muted num">
                    {stream.shape.join(" × ") || "1"}
                    {stream.rate_hz ? ` at ${stream.rate_hz} Hz` : ""}
                  </span>
                </label>
              ))}
            </fieldset>
          );
        })}
        <p>
          <button type="button" onClick={() => onChange(null)}>
            Reset to default
          </button>{" "}
          <span className="muted">Your choice is kept for this robot and task.</span>
        </p>
      </div>
    </Dialog>
  );
}
