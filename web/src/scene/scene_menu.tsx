import { useEffect, useRef } from "react";
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

/** What the scene shows, to be switched on and off; closed, it leaves the picture free. */
export function SceneMenu({ toggles, shown, onFlip }: SceneMenuProps) {
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      if (menu.current && !menu.current.contains(event.target as Node)) menu.current.open = false;
    };
    document.addEventListener("pointerdown", close);
    return () => document.removeEventListener("pointerdown", close);
  }, []);
  return (
    <details
      className="scene-menu"
      ref={menu}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !menu.current?.open) return;
        menu.current.open = false;
        menu.current.querySelector("summary")?.focus();
        event.stopPropagation();
      }}
    >
      <summary title="What is shown">Show</summary>
      <div>
        {toggles.map(({ name, label, key }) => (
          <label key={name}>
            <input type="checkbox" checked={shown[name]} onChange={() => onFlip(name)} />
            <span>{label}</span>
            <kbd>{key}</kbd>
          </label>
        ))}
      </div>
    </details>
  );
}
