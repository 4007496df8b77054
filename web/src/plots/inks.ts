// The colours of the theme, read once for each theme rather than for each picture.
import { useEffect, useState } from "react";
import { colour, lineColour, onTheme } from "../parts/colours";
import type { Inks } from "./draw";

function read(): Inks {
  return {
    paper: colour("--card"),
    rule: colour("--rule"),
    ink: colour("--ink-3"),
    strong: colour("--ink"),
    lines: Array.from({ length: 10 }, (_, place) => lineColour(place)),
    severity: { fail: colour("--bad"), quarantine: colour("--warn"), note: colour("--note") },
  };
}

export function useInks(): Inks {
  const [inks, setInks] = useState(read);
  useEffect(() => onTheme(() => setInks(read())), []);
  return inks;
}
