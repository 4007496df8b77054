import { useEffect, useRef, useState } from "react";
import type { EpisodeDetail, TactileMap } from "../api/schema";
import { getTactile } from "../api/tactile";
import { useAnswer } from "../api/use_answer";
import type { Clock } from "../player/clock";
import { HeatMap } from "./heat_map";
import { heatTable, unitText } from "./heat_scale";
import "./tactile.css";

export interface TactileProps {
  episode: EpisodeDetail;
  clock: Clock;
}

/** The tactile maps of an episode, on one scale; nothing at all where there are none. */
export function Tactile({ episode, clock }: TactileProps) {
  const answer = useAnswer((signal) => getTactile(episode.id, signal), [episode.id]);
  const [wantsAll, setWantsAll] = useState(false);
  if (answer.error)
    return (
      <p className="tactile tactile-trouble">
        The tactile maps cannot be read: {answer.error.message}
      </p>
    );
  const all = onOneScale(answer.value ?? []);
  const maps = all.filter(({ touched }) => touched || wantsAll);
  const still = all.filter(({ touched }) => !touched && !wantsAll);
  if (!all.length) return null;
  const words = still.map(({ name }) => name.replaceAll("_", " ")).join(", ");
  const line = words && (
    <button type="button" className="quiet tactile-still" onClick={() => setWantsAll(true)}>
      {words}: nothing touches
    </button>
  );
  if (!maps.length) return line;
  return (
    <section className="tactile" aria-label="Tactile maps" data-asked={wantsAll || undefined}>
      <div className="tactile-maps">
        {maps.map((map) => (
          <HeatMap key={map.stream} id={episode.id} map={map} clock={clock} />
        ))}
      </div>
      <Legend map={maps[0] as TactileMap} />
      {line}
    </section>
  );
}

/** Hands are compared with each other: maps of one unit share the wider range. */
function onOneScale(maps: TactileMap[]): TactileMap[] {
  return maps.map((map) => {
    const alike = maps.filter((other) => other.unit === map.unit);
    return {
      ...map,
      low: Math.min(...alike.map((each) => each.low)),
      high: Math.max(...alike.map((each) => each.high)),
    };
  });
}

function Legend({ map }: { map: TactileMap }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const pen = canvas.current?.getContext("2d");
    if (!pen) return;
    const picture = pen.createImageData(256, 1);
    picture.data.set(heatTable());
    pen.putImageData(picture, 0, 0);
  }, []);
  return (
    <div className="tactile-legend num">
      <span>{unitText(map.low, map.unit)}</span>
      {/** biome-ignore lint/a11y/noAriaHiddenOnFocusable: a canvas takes no focus */}
      <canvas ref={canvas} width={256} height={1} aria-hidden="true" />
      <span>{unitText(map.high, map.unit)}</span>
    </div>
  );
}
