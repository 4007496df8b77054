import { useId, useRef } from "react";
import type { ShownParts } from "./scene_model";

export interface Toggle {
  name: keyof ShownParts;
  label: string;
  key: string;
  does: string;
}

interface SceneMenuProps {
  toggles: Toggle[];
  shown: ShownParts;
  onFlip: (name: keyof ShownParts) => void;
}

const edgePx = 8;

/** What the scene shows, to be switched on and off; it lies above the page, so that no panel cuts it. */
export function SceneMenu({ toggles, shown, onFlip }: SceneMenuProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const place = () => {
    const at = button.current?.getBoundingClientRect();
    const box = list.current;
    if (!at || !box) return;
    const { offsetWidth: width, offsetHeight: height } = box;
    const left = Math.min(at.right - width, window.innerWidth - width - edgePx);
    const top = Math.min(at.bottom + 4, window.innerHeight - height - edgePx);
    box.style.left = `${Math.max(left, edgePx)}px`;
    box.style.top = `${Math.max(top, edgePx)}px`;
  };
  return (
    <>
      <button ref={button} type="button" popoverTarget={id} title="What is shown">
        Show
      </button>
      <div
        ref={list}
        id={id}
        popover="auto"
        className="scene-menu"
        role="group"
        aria-label="What is shown"
        onToggle={place}
      >
        {toggles.map(({ name, label, key }) => (
          <label key={name}>
            <input type="checkbox" checked={shown[name]} onChange={() => onFlip(name)} />
            <span>{label}</span>
            <kbd>{key}</kbd>
          </label>
        ))}
      </div>
    </>
  );
}
