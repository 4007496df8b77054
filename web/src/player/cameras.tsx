import { useEffect, useMemo, useState } from "react";
import type { EpisodeDetail, EpisodeStream } from "../api/schema";
import { useShortcuts } from "../parts/shortcuts";
import { bestGrid, cellColumn } from "./camera_grid";
import { CameraTile } from "./camera_tile";
import "./cameras.css";
import type { Clock } from "./clock";
import { DepthTile } from "./depth_tile";
import { useBox } from "./use_box";
import { useHidden } from "./use_hidden";
import { useSteps } from "./use_steps";

export interface CamerasProps {
  episode: EpisodeDetail;
  clock: Clock;
  /** Whether the clock steps by the frames of the chosen camera. */
  setsSteps?: boolean;
}

/** All cameras and depth of an episode, side by side, as large as the box allows. */
export function Cameras({ episode, clock, setsSteps = true }: CamerasProps) {
  const streams = useMemo(() => viewsOf(episode), [episode]);
  const [chosen, setChosen] = useState(streams[0]?.path ?? null);
  const [large, setLarge] = useState<string | null>(null);
  const [hidden, setHidden] = useHidden();
  const { element, width, height } = useBox();
  useSteps(episode, clock, chosen, setsSteps);
  useEffect(() => {
    if (large && !streams.some(({ path }) => path === large)) setLarge(null);
  }, [large, streams]);
  const shown = large
    ? streams.filter(({ path }) => path === large)
    : streams.filter(({ path }) => !hidden.has(path));
  const away = streams.filter(({ path }) => hidden.has(path));
  const choose = (path: string) => {
    setChosen(path);
    setHidden(path, false);
    setLarge((before) => (before ? path : null));
  };
  const enlarge = (path: string | null) => setLarge((before) => (before || !path ? null : path));
  useShortcuts("Cameras", [
    {
      keys: ["f"],
      does: "Enlarge the chosen camera, or show all again",
      run: () => enlarge(chosen),
    },
    ...streams.slice(0, 9).map(({ name, path }, place) => ({
      keys: [String(place + 1)],
      does: `Choose ${name} (steps go by its frames)`,
      run: () => choose(path),
    })),
  ]);
  useShortcuts(
    "Cameras",
    [{ keys: ["Escape"], does: "Show all cameras again", run: () => setLarge(null) }],
    large !== null,
  );
  if (!streams.length) return <p className="cameras-none">This episode has no camera.</p>;
  const aspect = aspectOf(shown);
  const isTall = height >= 60;
  const grid = isTall
    ? bestGrid(shown.length, width, height, aspect)
    : { columns: shown.length > 1 && width > 300 ? 2 : 1, rows: 0 };
  return (
    <div
      className={`cameras${isTall ? "" : " cameras-flow"}`}
      ref={element}
      role="group"
      aria-label="Cameras"
    >
      <div
        className="cameras-grid"
        style={{
          // Half columns, so that a last row that is not full stands in the middle.
          gridTemplateColumns: `repeat(${2 * grid.columns}, minmax(0, 1fr))`,
          gridAutoRows: isTall
            ? `minmax(0, 1fr)`
            : `${Math.round(width / grid.columns / aspect)}px`,
        }}
      >
        {streams.map((stream, place) => {
          const Tile = stream.kind === "depth" ? DepthTile : CameraTile;
          const isShown = shown.includes(stream);
          return (
            <div
              key={stream.path}
              className="cameras-cell"
              style={{ gridColumn: cellColumn(shown.indexOf(stream), shown.length, grid.columns) }}
              hidden={!isShown}
            >
              <Tile
                episode={episode}
                stream={stream}
                clock={clock}
                isActive={isShown}
                digit={place < 9 ? place + 1 : null}
                isChosen={stream.path === chosen}
                isLarge={stream.path === large}
                onChoose={() => choose(stream.path)}
                onLarge={() => enlarge(stream.path)}
                onHide={() => setHidden(stream.path, true)}
              />
            </div>
          );
        })}
      </div>
      {!large && away.length > 0 && (
        <div className="cameras-hidden">
          {!shown.length && <span>All cameras are hidden.</span>}
          {away.map(({ name, path }) => (
            <button key={path} type="button" onClick={() => setHidden(path, false)}>
              Show {name}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

const groups = ["observations", "actions", "debug"];

/** Cameras of the robot first, then its depth, then what looked on. */
function viewsOf(episode: EpisodeDetail): EpisodeStream[] {
  const rank = ({ group, kind }: EpisodeStream) =>
    groups.indexOf(group) * 2 + (kind === "depth" ? 1 : 0);
  return episode.streams
    .filter(({ kind, samples }) => (kind === "video" || kind === "depth") && samples > 0)
    .sort((one, other) => rank(one) - rank(other));
}

function aspectOf(streams: EpisodeStream[]): number {
  const ratios = streams
    .map(({ shape }) => (shape[1] ?? 4) / (shape[0] ?? 3))
    .sort((a, b) => a - b);
  return ratios[ratios.length >> 1] ?? 4 / 3;
}
