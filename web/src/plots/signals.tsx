import { useMemo, useState } from "react";
import type { EpisodeDetail } from "../api/schema";
import type { Clock } from "../player/clock";
import { useInks } from "./inks";
import { defaultPaths, panelsOf, plottable, rememberedPaths, rememberPaths } from "./panels";
import { Plot } from "./plot";
import { useSelectedFinding } from "./selection";
import "./signals.css";
import { StreamChooser } from "./stream_chooser";
import { TimeAxis } from "./time_axis";
import { windowOf } from "./window";
import { ZoomBar } from "./zoom_bar";

export interface SignalsProps {
  episode: EpisodeDetail;
  clock: Clock;
  /** Whether a timeline above has the axis of time already. */
  isBelowTimeline?: boolean;
}

/** The numbers of an episode as plots below each other, on one axis of time. */
export function Signals({ episode, clock, isBelowTimeline = false }: SignalsProps) {
  const view = windowOf(clock);
  const inks = useInks();
  const selected = useSelectedFinding();
  const [chosen, setChosen] = useState<string[] | null>(() => rememberedPaths(episode));
  const [isChoosing, setChoosing] = useState(false);
  const paths = useMemo(() => chosen ?? defaultPaths(episode), [chosen, episode]);
  const panels = useMemo(() => panelsOf(paths, episode), [paths, episode]);
  const choose = (next: string[] | null) => {
    setChosen(next);
    rememberPaths(episode, next);
  };
  const count = plottable(episode).length;
  if (!count) return <p className="waiting">This episode holds no streams of numbers to plot.</p>;
  return (
    <div className={`signals${isBelowTimeline ? " signals-fill" : ""}`}>
      <header className={isBelowTimeline ? "" : "signals-head"}>
        {!isBelowTimeline && <TimeAxis view={view} inks={inks} />}
        <div className="signals-bar">
          <button
            type="button"
            title={`Choose which of the ${count} streams are plotted`}
            onClick={() => setChoosing(true)}
          >
            Streams{" "}
            <span className="muted num">
              {panels.length}/{count}
            </span>
          </button>
          <ZoomBar clock={clock} view={view} />
        </div>
      </header>
      {!panels.length && <p className="waiting">Nothing is plotted. Choose streams above.</p>}
      {panels.map((panel) => (
        <Plot
          key={panel.stream.path}
          episode={episode}
          clock={clock}
          view={view}
          panel={panel}
          inks={inks}
          selected={selected}
          onRemove={() => choose(paths.filter((each) => each !== panel.stream.path))}
        />
      ))}
      {isChoosing && (
        <StreamChooser
          episode={episode}
          paths={paths}
          onChange={choose}
          onClose={() => setChoosing(false)}
        />
      )}
    </div>
  );
}
