// What tests and the bench may ask a scene: where its links are, and what a picture costs.
import type { SceneModel } from "./scene_model";
import type { Stage } from "./stage";

export interface SceneHook {
  linkPosition: (name: string, ghost?: boolean) => number[] | null;
  /** A point of the person in their own world: before they are put beside the robot. */
  personPoint: (name: string) => number[] | null;
  /** Places of the robot that are marked as too far from their goals. */
  missed: () => string[];
  /** Where one looks from, m. */
  cameraPosition: () => number[];
  seek: (timeNs: number) => void;
  play: (rate: number) => void;
  /** Milliseconds of script for the last picture: following the clock, and drawing. */
  drawnMs: () => number;
  refreshMs: () => number;
  drawn: () => number;
  drawCalls: () => number;
  error: () => string | null;
}

declare global {
  interface Window {
    __studioScene?: SceneHook;
  }
}

/** Make a scene known; the function returned takes that back. */
export function publish(stage: Stage, show: SceneModel): () => void {
  const hook: SceneHook = {
    linkPosition: (name, ghost = false) => {
      const pose = (ghost ? show.ghost : show.figure)?.poseOf(name);
      return pose ? pose.elements.slice(12, 15) : null;
    },
    personPoint: (name) => show.person?.pointOf(name) ?? null,
    missed: () => show.person?.missed ?? [],
    cameraPosition: () => stage.camera.position.toArray(),
    seek: (timeNs) => show.clock.seek(timeNs),
    play: (rate) => {
      show.clock.setRate(rate);
      show.clock.play();
    },
    drawnMs: () => stage.drawnMs,
    refreshMs: () => show.refreshMs,
    drawn: () => stage.drawn,
    drawCalls: () => stage.drawCalls,
    error: () => show.error?.message ?? null,
  };
  window.__studioScene = hook;
  return () => {
    if (window.__studioScene === hook) delete window.__studioScene;
  };
}
