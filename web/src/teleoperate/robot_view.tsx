import { useEffect, useRef, useState } from "react";
import type { RobotModel } from "../api/schema";
import { onTheme } from "../parts/colours";
import { Stage } from "../scene/stage";
import { HandDrag } from "./hand_drag";
import { type HostState, TOO_NEAR_M, type Welcome } from "./host";
import { SIDES } from "./input";
import type { Operator } from "./operator";
import { RobotScene } from "./robot_scene";

interface Props {
  operator: Operator;
  state: HostState | null;
  welcome: Welcome | null;
}

interface Shown {
  scene: RobotScene;
  drag: HandDrag;
}

/** The robot as it is now, and the hands to take hold of. */
export function RobotView({ operator, state, welcome }: Props) {
  const hold = useRef<HTMLDivElement>(null);
  const tags = useRef<HTMLDivElement>(null);
  const [shown, setShown] = useState<Shown | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  useEffect(() => {
    if (!hold.current) return;
    const made = open(hold.current, operator);
    if (!made) {
      setTrouble("This browser does not draw in 3-D; keys and buttons work without it.");
      return;
    }
    setShown(made);
    const stopTheme = onTheme(() => made.scene.stage.repaint());
    return () => {
      stopTheme();
      made.drag.close();
      made.scene.dispose();
      made.scene.stage.dispose();
      setShown(null);
    };
  }, [operator]);
  const robot = welcome?.robot;
  useEffect(() => {
    if (!shown || !robot) return;
    const cancel = new AbortController();
    modelOf(cancel.signal).then(
      (model) => shown.scene.setModel(model),
      (error: unknown) => {
        if (!cancel.signal.aborted) setTrouble(`The robot cannot be drawn: ${String(error)}`);
      },
    );
    return () => cancel.abort();
  }, [shown, robot]);
  useEffect(() => {
    if (!shown || !state) return;
    shown.scene.show(state, welcome?.joints ?? []);
    tagHands(tags.current, shown, state);
  }, [shown, state, welcome]);
  return (
    <figure className="robot-view" aria-label="Robot in 3-D">
      <div className="robot-hold" ref={hold} />
      <div className="hand-tags" ref={tags} aria-hidden>
        {SIDES.map((side) => (
          <span key={side} />
        ))}
      </div>
      {trouble && <p className="robot-trouble">{trouble}</p>}
      <figcaption>
        Drag a ring to move its hand (wheel: depth, Shift: turn), or hold <kbd>Space</kbd> and use
        the arrows. <kbd>G</kbd> closes it.
      </figcaption>
    </figure>
  );
}

function open(parent: HTMLElement, operator: Operator): Shown | null {
  try {
    const scene = new RobotScene(new Stage(parent));
    return { scene, drag: new HandDrag(scene, operator.hands) };
  } catch {
    // three.js throws where the browser gives it no context.
    return null;
  }
}

async function modelOf(signal: AbortSignal): Promise<RobotModel> {
  const answer = await fetch("/robot", { signal });
  if (!answer.ok) throw new Error(`the robot's side answered ${answer.status}`);
  return (await answer.json()) as RobotModel;
}

/** Beside each hand: how far its goal lies in reach, and what is the matter. */
function tagHands(parent: HTMLElement | null, { drag }: Shown, state: HostState): void {
  SIDES.forEach((side, place) => {
    const tag = parent?.children[place] as HTMLElement | undefined;
    const at = drag.screenOf(side);
    if (!tag) return;
    tag.hidden = !at;
    if (!at) return;
    const most = (parent?.parentElement?.clientWidth ?? 0) - tag.offsetWidth - 4;
    tag.style.transform = `translate(${Math.min(at.x + 18, most)}px, ${at.y - 30}px)`;
    const reach = state.hands[side]?.reach ?? null;
    const tooFar = (reach ?? 0) > 1;
    const near = state.near.find(
      ([first, second, far]) => far < TOO_NEAR_M && `${first} ${second}`.includes(side),
    );
    tag.dataset.bad = String(tooFar || near !== undefined);
    tag.textContent = tooFar
      ? `${side}: out of reach`
      : near
        ? `${side}: ${(1000 * near[2]).toFixed(0)} mm to collision`
        : state.limits.some((joint) => joint.startsWith(side))
          ? `${side}: joint at its limit`
          : side;
  });
}
