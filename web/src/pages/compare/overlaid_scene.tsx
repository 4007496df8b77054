import { useEffect, useRef, useState } from "react";
import { getRobot } from "../../api/robot";
import type { RobotFacts } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { onTheme } from "../../parts/colours";
import { Notice, Waiting } from "../../parts/notice";
import "../../scene/scene.css";
import { onStage } from "../../scene/palette";
import { FIRST_SHOWN, SceneModel } from "../../scene/scene_model";
import { Stage } from "../../scene/stage";
import { useRobotMeshes } from "../../scene/use_scene_model";
import { lookFrom, nudge } from "../../scene/viewpoint";
import "./overlaid_scene.css";
import type { Side } from "./sides";

/** The robots of two episodes in one scene, each in its colour; what stands around is that of A. */
export default function OverlaidScene({ a, b }: { a: Side; b: Side }) {
  const hold = useRef<HTMLDivElement>(null);
  const answer = useAnswer(
    (signal) => Promise.all([getRobot(a.episode.id, signal), getRobot(b.episode.id, signal)]),
    [a.episode.id, b.episode.id],
  );
  const [first, second] = answer.value ?? [null, null];
  const meshes = [useRobotMeshes(first?.meshes ?? null), useRobotMeshes(second?.meshes ?? null)];
  const [meshesOfA, meshesOfB] = meshes;
  const [trouble, setTrouble] = useState<string | null>(null);
  useEffect(() => {
    const parent = hold.current;
    if (!parent || !first || !second || meshesOfA === "waiting" || meshesOfB === "waiting") return;
    if (!first.model && !second.model) {
      setTrouble(first.missing[0] ?? "Neither of the two has a robot that can be drawn.");
      return;
    }
    let stage: Stage;
    try {
      stage = new Stage(parent);
    } catch {
      // three.js throws where the browser gives it no context.
      setTrouble("This browser does not draw in 3-D: WebGL is switched off or missing.");
      return;
    }
    const tints = [onStage("--line-1"), onStage("--line-2")] as const;
    const one = new SceneModel(a.episode.id, alone(first), stage, a.clock, meshesOfA ?? null, {
      tint: tints[0],
    });
    const other = new SceneModel(b.episode.id, bare(second), stage, b.clock, meshesOfB ?? null, {
      tint: tints[1],
    });
    other.show({ ...FIRST_SHOWN, follow: false });
    lookFrom(stage, "corner", (first.model ? one : other).frame);
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (!nudge(stage, event.key, event.shiftKey)) return;
      event.preventDefault();
      event.stopPropagation();
    };
    stage.canvas.tabIndex = 0;
    stage.canvas.dataset.ownArrows = "";
    stage.canvas.setAttribute("role", "img");
    stage.canvas.setAttribute("aria-label", "Both robots in 3-D. Arrows turn the view.");
    stage.canvas.addEventListener("keydown", press);
    const stopTheme = onTheme(() => stage.repaint());
    return () => {
      stopTheme();
      one.dispose();
      other.dispose();
      stage.dispose();
    };
  }, [first, second, meshesOfA, meshesOfB, a.episode.id, b.episode.id, a.clock, b.clock]);
  return (
    <figure className="scene" aria-label="Both robots in 3-D">
      <div className="scene-hold" ref={hold} />
      {answer.error && <Notice error={answer.error} again={answer.again} />}
      {answer.waiting && <Waiting what="Loading the robots" />}
      {trouble && <p className="scene-sentence">{trouble}</p>}
      <figcaption className="overlaid-key">
        <span className="overlaid-a">A</span>
        <span className="overlaid-b">B</span>
        <span>table and things are those of A</span>
      </figcaption>
    </figure>
  );
}

/** A robot without what would hide the other: its command, a person, points. */
function alone(facts: RobotFacts): RobotFacts {
  return { ...facts, commanded: null, person: null, clouds: [], cameras: [] };
}

/** A robot and nothing else. */
function bare(facts: RobotFacts): RobotFacts {
  const surroundings = { ...facts.surroundings, things: [], table: null, target: null };
  return { ...alone(facts), objects: [], surroundings };
}
