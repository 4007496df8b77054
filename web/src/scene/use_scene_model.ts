// The stage of a component: made when the robot is known, taken down when the component goes.
import { type RefObject, useEffect, useState } from "react";
import type { RobotFacts } from "../api/schema";
import { onTheme } from "../parts/colours";
import type { Clock } from "../player/clock";
import { type Hover, Pointer } from "./pointer";
import { SceneModel } from "./scene_model";
import { Stage } from "./stage";
import { publish } from "./test_hook";
import { lookFrom } from "./viewpoint";

export interface SceneState {
  show: SceneModel | null;
  stage: Stage | null;
  hover: Hover | null;
  /** Why nothing can be drawn at all. */
  trouble: string | null;
}

const noWebgl =
  "This browser does not draw in 3-D: WebGL is switched off or missing. Everything else on this page works without it.";

export function useSceneModel(
  parent: RefObject<HTMLDivElement | null>,
  id: string,
  facts: RobotFacts | null,
  clock: Clock,
): SceneState {
  const [pair, setPair] = useState<{ show: SceneModel; stage: Stage } | null>(null);
  const [hover, setHover] = useState<Hover | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  useEffect(() => {
    const { current } = parent;
    if (!current || !facts) return;
    let close: (() => void) | null = null;
    // The cameras come first: what compiles shaders waits until the page has a moment.
    const cancel = whenIdle(() => {
      const stage = stageIn(current);
      if (stage) close = open(stage, id, facts, clock, setHover, setPair);
      else setTrouble(noWebgl);
    });
    return () => {
      cancel();
      close?.();
      setPair(null);
      setHover(null);
    };
  }, [parent, id, facts, clock]);
  return { show: pair?.show ?? null, stage: pair?.stage ?? null, hover, trouble };
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
  id: string,
  facts: RobotFacts,
  clock: Clock,
  onHover: (hover: Hover | null) => void,
  onOpen: (pair: { show: SceneModel; stage: Stage }) => void,
): () => void {
  const show = new SceneModel(id, facts, stage, clock);
  const pointer = new Pointer(stage, show, onHover, (link) => tellJoint(show, link));
  const unpublish = publish(stage, show);
  const stopTheme = onTheme(() => stage.repaint());
  lookFrom(stage, "corner", show.frame);
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
