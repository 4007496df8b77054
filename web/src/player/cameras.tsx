import { useEffect, useMemo, useState } from "react";
import type { EpisodeDetail, EpisodeStream } from "../api/schema";
import { useShortcuts } from "../parts/shortcuts";
import { packFlow, packPictures, type Room } from "./camera_grid";
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
  /** As large as the pictures may get, where the place of the cameras follows their size. */
  room?: Room;
  /** Told how wide the pictures together are. */
  onPacked?: (width: number) => void;
}

/** All cameras and depth of an episode, side by side, as large as the box allows. */
export function Cameras({ episode, clock, setsSteps = true, room, onPacked }: CamerasProps) {
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
  const aspects = shown.map(aspectOf);
  const isTall = height >= 60;
  const packing = isTall
    ? packPictures(aspects, room ?? { width, height })
    : packFlow(aspects, width);
  const packed = isTall ? packing.width : 0;
  useEffect(() => onPacked?.(packed), [packed, onPacked]);
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
  return (
    <div
      className={`cameras${isTall ? "" : " cameras-flow"}`}
      ref={element}
      role="group"
      aria-label="Cameras"
    >
      <div className="cameras-grid" style={{ width: packing.width, height: packing.height }}>
        {streams.map((stream, place) => {
          const Tile = stream.kind === "depth" ? DepthTile : CameraTile;
          const isShown = shown.includes(stream);
          const lies = packing.places[shown.indexOf(stream)];
          return (
            <div key={stream.path} className="cameras-cell" style={lies} hidden={!isShown}>
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

function aspectOf({ shape }: EpisodeStream): number {
  const [height = 3, width = 4] = shape;
  return Math.min(Math.max(width / Math.max(height, 1), 0.2), 5) || 4 / 3;
}
