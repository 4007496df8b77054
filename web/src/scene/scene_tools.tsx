import { useState } from "react";
import { useShortcuts } from "../parts/shortcuts";
import { SceneMenu, type Toggle } from "./scene_menu";
import type { SceneModel, ShownParts } from "./scene_model";
import type { Stage } from "./stage";
import { ViewCube } from "./view_cube";
import { lookFrom, VIEWS, type View } from "./viewpoint";

interface SceneToolsProps {
  show: SceneModel;
  stage: Stage;
  shown: ShownParts;
  onShown: (shown: ShownParts) => void;
}

function fill(stage: Stage): void {
  const panel = stage.canvas.closest("figure");
  // A browser may refuse, and then nothing is lost.
  if (document.fullscreenElement) document.exitFullscreen().catch(() => undefined);
  else panel?.requestFullscreen?.().catch(() => undefined);
}

function toggles(show: SceneModel): Toggle[] {
  const { facts } = show;
  return [
    {
      name: "person",
      label: "Person",
      key: "Shift+m",
      does: "Person whose motion the robot makes, or whose hands were tracked",
      has: show.person !== null || show.hands !== null,
    },
    {
      name: "ghost",
      label: "Commanded pose",
      key: "h",
      does: "Commanded pose",
      has: show.ghost !== null,
    },
    {
      name: "trails",
      label: "Trails of hands and head",
      key: "Shift+t",
      does: "Where hands and head went in the last second",
      has: facts.model !== null,
    },
    {
      name: "points",
      label: "Point cloud",
      key: "Shift+p",
      does: "Point cloud",
      has: facts.clouds.length > 0,
    },
    {
      name: "limits",
      label: "Joints at their limit",
      key: "Shift+l",
      does: "Colour of joints at their limit",
      has: facts.measured !== null,
    },
    {
      name: "balance",
      label: "Centre of mass",
      key: "Shift+b",
      does: "Centre of mass",
      has: facts.model !== null,
    },
    {
      name: "cameras",
      label: "Where cameras look",
      key: "Shift+c",
      does: "Cameras with their field of view and picture",
      has: facts.cameras.length > 0,
    },
    {
      name: "axes",
      label: "Frames (axes)",
      key: "Shift+g",
      does: "Frames of the robot: x red, y green, z blue",
      has: facts.model !== null,
    },
    {
      name: "follow",
      label: "Follow the robot",
      key: "Shift+f",
      does: "Camera that goes along with the robot",
      has: facts.base !== null,
    },
  ].filter((each): each is Toggle & { has: true } => each.has);
}

/** What is shown, and from where one looks. */
export function SceneTools({ show, stage, shown, onShown }: SceneToolsProps) {
  const [view, setView] = useState<View>("corner");
  const list = toggles(show);
  const flip = (name: keyof ShownParts) => onShown({ ...shown, [name]: !shown[name] });
  const look = (wanted: View) => {
    setView(wanted);
    lookFrom(stage, wanted, show.frame);
  };
  const reset = () => {
    setView("corner");
    show.lookFirst();
  };
  const next = VIEWS[(VIEWS.indexOf(view) + 1) % VIEWS.length] as View;
  useShortcuts("Robot", [
    ...list.map(({ name, key, does }) => ({
      keys: [key],
      does: `Show or hide: ${does}`,
      run: () => flip(name),
    })),
    {
      keys: ["v"],
      does: "Look from the corner, the front, the right, behind, the left, above",
      run: () => look(next),
    },
    { keys: ["Shift+v"], does: "Reset view", run: () => reset() },
    { keys: ["Shift+x"], does: "Full screen, or not", run: () => fill(stage) },
  ]);
  return (
    <>
      <ViewCube stage={stage} turn={show.frame.turn} onView={look} />
      <div className="scene-tools" role="toolbar" aria-label="Robot view">
        <button type="button" title="Reset the view (Shift+v)" onClick={() => reset()}>
          Reset
        </button>
        <SceneMenu toggles={list} shown={shown} onFlip={flip} />
        <button
          type="button"
          aria-label="Fill the screen"
          title="Fill the screen (Shift+x)"
          onClick={() => fill(stage)}
        >
          ⤢
        </button>
      </div>
    </>
  );
}
