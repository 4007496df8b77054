import { useEffect, useRef } from "react";
import type { Stage } from "./stage";
import type { View } from "./viewpoint";

/** Each face: the view it leads to, its word, and how it stands on a cube whose front is the robot's. */
const faces: [View, string, string][] = [
  ["front", "Front", "rotateY(0deg)"],
  ["back", "Back", "rotateY(180deg)"],
  ["left", "Left", "rotateY(90deg)"],
  ["right", "Right", "rotateY(-90deg)"],
  ["top", "Top", "rotateX(90deg)"],
];
const halfPx = 24;

interface ViewCubeProps {
  stage: Stage;
  /** Where the robot looks, rad. */
  turn: number;
  onView: (view: View) => void;
}

/** A cube that turns with the view; a press on a face looks from there. */
export function ViewCube({ stage, turn, onView }: ViewCubeProps) {
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const follow = () => {
      const { x, y, z } = stage.camera.position.clone().sub(stage.controls.target);
      const azimuth = Math.atan2(y, x) - turn;
      const rise = Math.atan2(z, Math.hypot(x, y));
      if (body.current)
        body.current.style.transform = `translateZ(-${halfPx}px) rotateX(${-rise}rad) rotateY(${-azimuth}rad)`;
    };
    follow();
    stage.controls.addEventListener("change", follow);
    return () => stage.controls.removeEventListener("change", follow);
  }, [stage, turn]);
  return (
    <div className="view-cube" role="group" aria-label="Look from">
      <div className="view-cube-body" ref={body}>
        {faces.map(([view, word, turned]) => (
          <button
            key={view}
            type="button"
            style={{ transform: `${turned} translateZ(${halfPx}px)` }}
            title={`Look from ${view === "top" ? "above" : `the ${view}`}`}
            onClick={() => onView(view)}
          >
            {word}
          </button>
        ))}
      </div>
    </div>
  );
}
