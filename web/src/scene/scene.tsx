import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { getRobot } from "../api/robot";
import type { EpisodeDetail } from "../api/schema";
import { useAnswer } from "../api/use_answer";
import { Notice, Waiting } from "../parts/notice";
import type { Clock } from "../player/clock";
import { JointTip } from "./joint_tip";
import "./scene.css";
import { SceneLegend } from "./scene_legend";
import { FIRST_SHOWN, type ShownParts } from "./scene_model";
import { SceneNotes } from "./scene_notes";
import { SceneTools } from "./scene_tools";
import { useSceneModel } from "./use_scene_model";
import { nudge } from "./viewpoint";

export interface SceneProps {
  episode: EpisodeDetail;
  clock: Clock;
}

/** The robot in 3-D, as it moved, among the things around it. */
export default function Scene({ episode, clock }: SceneProps) {
  const hold = useRef<HTMLDivElement>(null);
  const answer = useAnswer((signal) => getRobot(episode.id, signal), [episode.id]);
  const [shown, setShown] = useState<ShownParts>(FIRST_SHOWN);
  const { show, stage, hover, trouble } = useSceneModel(hold, episode.id, answer.value, clock);
  useEffect(() => show?.show(shown), [show, shown]);
  useLayoutEffect(() => {
    if (!stage) return;
    stage.canvas.tabIndex = 0;
    stage.canvas.dataset.ownArrows = "";
    stage.canvas.setAttribute("role", "img");
    stage.canvas.setAttribute(
      "aria-label",
      `${answer.value?.model?.name ?? "Objects"} in 3-D. Arrows turn the view, Shift and arrows move it, plus and minus zoom.`,
    );
    const press = (event: KeyboardEvent) => {
      if (
        !event.ctrlKey &&
        !event.altKey &&
        !event.metaKey &&
        nudge(stage, event.key, event.shiftKey)
      ) {
        event.preventDefault();
        event.stopPropagation();
      }
    };
    stage.canvas.addEventListener("keydown", press);
    return () => stage.canvas.removeEventListener("keydown", press);
  }, [stage, answer.value]);

  const facts = answer.value;
  const isEmpty =
    facts !== null && !facts.model && !facts.hands && !facts.objects.length && !facts.clouds.length;
  return (
    <figure className="scene" aria-label="Robot in 3-D">
      {!isEmpty && <div className="scene-hold" ref={hold} />}
      {answer.error && <Notice error={answer.error} again={answer.again} />}
      {answer.waiting && <Waiting what="Loading the robot" />}
      {trouble && <p className="scene-sentence">{trouble}</p>}
      {isEmpty && (
        <p className="scene-sentence">
          {facts.missing[0] ?? "This episode has nothing to show in 3-D."}
        </p>
      )}
      {show && stage && <SceneTools show={show} stage={stage} shown={shown} onShown={setShown} />}
      {show && <SceneLegend show={show} shown={shown} />}
      {facts && !isEmpty && !trouble && <SceneNotes facts={facts} />}
      {hover && show?.figure && <JointTip hover={hover} figure={show.figure} clock={clock} />}
    </figure>
  );
}
