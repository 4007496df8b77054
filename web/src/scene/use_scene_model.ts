// The stage of a component: made when the robot is known, taken down when the component goes.
import { type RefObject, useEffect, useState } from "react";
import type { BufferGeometry } from "three";
import { getRobotMeshes } from "../api/robot";
import type { RobotFacts, RobotMeshes } from "../api/schema";
import { useAnswer } from "../api/use_answer";
import { onTheme } from "../parts/colours";
import type { Clock } from "../player/clock";
import { meshGeometries } from "./mesh_looks";
import { type Hover, Pointer } from "./pointer";
import { SceneModel } from "./scene_model";
import { Stage } from "./stage";
import { publish } from "./test_hook";

export interface SceneState {
  show: SceneModel | null;
  stage: Stage | null;
  hover: Hover | null;
  /** Why nothing can be drawn at all. */
  trouble: string | null;
}

/** Who is on the stage. */
interface Cast {
  id: string;
  facts: RobotFacts;
  clock: Clock;
  meshes: ReadonlyMap<string, BufferGeometry> | null;
}

const noWebgl =
  "This browser does not draw in 3-D: WebGL is switched off or missing. Everything else on this page works without it.";

export function useSceneModel(
  parent: RefObject<HTMLDivElement | null>,
  id: string,
  facts: RobotFacts | null,
  clock: Clock,
): SceneState {
  const meshes = useRobotMeshes(facts?.meshes ?? null);
  const [pair, setPair] = useState<{ show: SceneModel; stage: Stage } | null>(null);
  const [hover, setHover] = useState<Hover | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  useEffect(() => {
    const { current } = parent;
    if (!current || !facts || meshes === "waiting") return;
    let close: (() => void) | null = null;
    // The cameras come first: what compiles shaders waits until the page has a moment.
    const cancel = whenIdle(() => {
      const stage = stageIn(current);
      if (stage) close = open(stage, { id, facts, clock, meshes }, setHover, setPair);
      else setTrouble(noWebgl);
    });
    return () => {
      cancel();
      close?.();
      setPair(null);
      setHover(null);
    };
  }, [parent, id, facts, clock, meshes]);
  return { show: pair?.show ?? null, stage: pair?.stage ?? null, hover, trouble };
}

/** The meshes of a robot; null without any, also where they cannot be had: then it is drawn. */
export function useRobotMeshes(
  kept: RobotMeshes | null,
): ReadonlyMap<string, BufferGeometry> | null | "waiting" {
  const { value, error } = useAnswer(
    async (signal) =>
      kept && {
        of: kept.hash,
        found: meshGeometries(kept, await getRobotMeshes(kept.hash, signal)),
      },
    [kept?.hash],
  );
  if (!kept || error) return null;
  return value?.of === kept.hash ? value.found : "waiting";
}

function stageIn(parent: HTMLElement): Stage | null {
  try {
    return new Stage(parent);
  } catch {
    // three.js throws where the browser gives it no context.
    return null;
  }
}

/** Put an episode on the stage; the function returned takes both down. */
function open(
  stage: Stage,
  cast: Cast,
  onHover: (hover: Hover | null) => void,
  onOpen: (pair: { show: SceneModel; stage: Stage }) => void,
): () => void {
  const show = new SceneModel(cast.id, cast.facts, stage, cast.clock, cast.meshes);
  const pointer = new Pointer(stage, show, onHover, (link) => tellJoint(show, link));
  const unpublish = publish(stage, show);
  const stopTheme = onTheme(() => stage.repaint());
  show.lookFirst();
  onOpen({ show, stage });
  return () => {
    stopTheme();
    unpublish();
    pointer.dispose();
    show.dispose();
    stage.dispose();
  };
}

function whenIdle(run: () => void): () => void {
  // Safari has no idle callbacks yet.
  if (!("requestIdleCallback" in window)) {
    const timer = setTimeout(run, 50);
    return () => clearTimeout(timer);
  }
  const handle = requestIdleCallback(run, { timeout: 400 });
  return () => cancelIdleCallback(handle);
}

/** A click on a link: plots may show its joint. */
function tellJoint(show: SceneModel, link: string): void {
  const joint = show.facts.model?.joints.find((each) => each.child === link);
  if (joint) window.dispatchEvent(new CustomEvent("studio:joint", { detail: joint.name }));
}
