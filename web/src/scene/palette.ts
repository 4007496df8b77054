// Colours of the stage. It is dark in both themes, so tokens made for paper are lightened.
import { Color } from "three";
import { colour } from "../parts/colours";

export interface Palette {
  stage: Color;
  ink: Color;
  shell: Color;
  dark: Color;
  visor: Color;
  ghost: Color;
  warn: Color;
  bad: Color;
  table: Color;
  target: Color;
  grid: Color;
  person: Color;
  missed: Color;
}

function token(name: string): Color {
  return new Color(colour(name) || "gray");
}

/** A token as it must be to stand out from the dark: no darker than a middle tone. */
export function onStage(name: string): Color {
  const found = token(name);
  const hsl = { h: 0, s: 0, l: 0 };
  found.getHSL(hsl);
  return found.setHSL(hsl.h, Math.max(hsl.s, 0.5), Math.max(hsl.l, 0.66));
}

export function readPalette(): Palette {
  const stage = token("--stage");
  const ink = token("--stage-ink");
  const between = (share: number) => stage.clone().lerp(ink, share);
  return {
    stage,
    ink,
    shell: between(0.82),
    dark: between(0.09),
    visor: between(0.0),
    ghost: onStage("--accent"),
    warn: onStage("--warn"),
    bad: onStage("--bad"),
    table: between(0.12).lerp(token("--line-2"), 0.16),
    target: onStage("--good"),
    grid: between(0.5),
    person: token("--person"),
    missed: token("--alarm"),
  };
}

const named: Record<string, string> = {
  red: "--bad",
  green: "--line-3",
  blue: "--line-1",
  yellow: "--line-5",
  orange: "--line-2",
  purple: "--line-4",
  pink: "--line-7",
};

/** The colour of an object, by the word that the episode has for it: full, as the light bleaches it. */
export function thingColour(word: string | null): Color {
  const style = word === null ? "" : word.toLowerCase();
  if (style === "white") return token("--stage-ink");
  const found = token(named[style] ?? "--line-6");
  const hsl = { h: 0, s: 0, l: 0 };
  found.getHSL(hsl);
  return found.setHSL(hsl.h, Math.max(hsl.s, 0.72), 0.46);
}
