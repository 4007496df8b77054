import { useEffect, useRef, useState } from "react";
import { Siren } from "./siren";

const kept = "studio.live.muted";

export interface Sound {
  isMuted: boolean;
  /** Whether the browser lets the page make a sound at all. */
  isAllowed: boolean;
  setMuted: (isMuted: boolean) => void;
}

/** Sounds while `isLoud`, unless muted; any touch of the page is taken as leave to do so. */
export function useSiren(isLoud: boolean): Sound {
  const siren = useRef<Siren>(null);
  const [isMuted, setIsMuted] = useState(() => localStorage.getItem(kept) === "1");
  const [isAllowed, setAllowed] = useState(false);
  useEffect(() => {
    const made = new Siren();
    siren.current = made;
    const touched = () => void made.allow().then(setAllowed);
    window.addEventListener("pointerdown", touched);
    window.addEventListener("keydown", touched);
    touched();
    return () => {
      window.removeEventListener("pointerdown", touched);
      window.removeEventListener("keydown", touched);
      made.close();
    };
  }, []);
  useEffect(() => {
    if (isLoud && !isMuted) siren.current?.start();
    else siren.current?.stop();
  }, [isLoud, isMuted]);
  const setMuted = (next: boolean) => {
    localStorage.setItem(kept, next ? "1" : "0");
    setIsMuted(next);
  };
  return { isMuted, isAllowed, setMuted };
}
