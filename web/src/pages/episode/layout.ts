// Where the panels of an episode's page lie: a tree of rows and columns, each part with its share.

export const panelNames = ["cameras", "robot", "plots", "details"] as const;
export type PanelName = (typeof panelNames)[number];

export interface Split {
  lies: "row" | "column";
  parts: Layout[];
  /** Of the space each, in all 1. */
  shares: number[];
  /** Whether somebody set the shares; else cameras are as wide as their pictures. */
  isSet?: boolean;
}

export type Layout = PanelName | Split;
export type Edge = "left" | "right" | "top" | "bottom";

/** Shares of the board, 0 to 1. */
export interface Rect {
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface Bar {
  /** The way through the tree to the split, and the part before the bar. */
  path: number[];
  place: number;
  lies: Split["lies"];
  /** The whole split, and where the bar is in it. */
  rect: Rect;
  from: number;
  at: number;
}

const LEAST = 0.08;
const MOST_DEEP = 8;
const wholeBoard: Rect = { left: 0, top: 0, width: 1, height: 1 };

function split(lies: Split["lies"], shares: number[], ...parts: Layout[]): Split {
  return { lies, parts, shares };
}

export const presets: Record<string, { layout: Layout; words: string }> = {
  Debug: {
    words: "everything: pictures, robot, plots, findings",
    layout: split(
      "row",
      [0.75, 0.25],
      split("column", [0.5, 0.5], split("row", [0.66, 0.34], "cameras", "robot"), "plots"),
      "details",
    ),
  },
  Review: {
    words: "large pictures and findings",
    layout: split(
      "row",
      [0.72, 0.28],
      split("column", [0.72, 0.28], "cameras", "plots"),
      "details",
    ),
  },
  Demo: {
    words: "pictures and robot, nothing else",
    layout: split("row", [0.5, 0.5], "cameras", "robot"),
  },
};

export const usualLayout = (presets.Debug as { layout: Layout }).layout;

export function panelsIn(layout: Layout): PanelName[] {
  return typeof layout === "string" ? [layout] : layout.parts.flatMap(panelsIn);
}

/** Without some panels; null when nothing is left. */
export function without(layout: Layout, names: PanelName[]): Layout | null {
  if (typeof layout === "string") return names.includes(layout) ? null : layout;
  const kept = layout.parts
    .map((part, place) => ({ part: without(part, names), share: layout.shares[place] ?? 0 }))
    .filter((each): each is { part: Layout; share: number } => each.part !== null);
  if (kept.length < 2) return kept[0]?.part ?? null;
  return normal({
    lies: layout.lies,
    parts: kept.map((each) => each.part),
    shares: kept.map((each) => each.share),
  });
}

/** A panel put beside another one, half of its space; it leaves where it was. */
export function placed(layout: Layout, name: PanelName, edge: Edge, target: PanelName): Layout {
  if (name === target) return layout;
  const rest = without(layout, [name]);
  if (!rest) return layout;
  const lies = edge === "left" || edge === "right" ? "row" : "column";
  const isFirst = edge === "left" || edge === "top";
  const put = (part: Layout): Layout => {
    if (part === target) return split(lies, [0.5, 0.5], ...(isFirst ? [name, part] : [part, name]));
    return typeof part === "string" ? part : { ...part, parts: part.parts.map(put) };
  };
  return flat(put(rest));
}

/** A panel added where it lies as a rule: details and robot on the right, plots below. */
export function added(layout: Layout, name: PanelName): Layout {
  if (panelsIn(layout).includes(name)) return layout;
  if (name === "plots") return flat(split("column", [0.55, 0.45], layout, name));
  if (name === "details") return flat(split("row", [0.75, 0.25], layout, name));
  const beside = name === "robot" ? "cameras" : "robot";
  if (panelsIn(layout).includes(beside))
    return placed(
      flat(split("row", [0.9, 0.1], layout, name)),
      name,
      name === "robot" ? "right" : "left",
      beside,
    );
  return flat(split("column", [0.5, 0.5], name, layout));
}

/** A panel moved by one place that way, past its neighbour there; the same where there is none. */
export function moved(layout: Layout, name: PanelName, edge: Edge): Layout {
  const rects = rectsOf(layout).panels;
  const own = rects.get(name);
  if (!own) return layout;
  const next = [...rects]
    .filter(([other, rect]) => other !== name && liesAt(own, rect, edge))
    .sort(([, a], [, b]) => overlap(own, b, edge) - overlap(own, a, edge))[0];
  return next ? placed(layout, name, edge, next[0]) : layout;
}

function liesAt(own: Rect, other: Rect, edge: Edge): boolean {
  const near = 0.01;
  const gap = {
    left: own.left - (other.left + other.width),
    right: other.left - (own.left + own.width),
    top: own.top - (other.top + other.height),
    bottom: other.top - (own.top + own.height),
  }[edge];
  return Math.abs(gap) < near && overlap(own, other, edge) > near;
}

function overlap(own: Rect, other: Rect, edge: Edge): number {
  const isAcross = edge === "left" || edge === "right";
  const [a, b] = isAcross ? [own.top, own.height] : [own.left, own.width];
  const [c, d] = isAcross ? [other.top, other.height] : [other.left, other.width];
  return Math.min(a + b, c + d) - Math.max(a, c);
}

/** The share of the part before a bar set anew, no part too small. */
export function resized(layout: Layout, path: number[], place: number, share: number): Layout {
  if (typeof layout === "string") return layout;
  const [next, ...deeper] = path;
  if (next !== undefined) {
    const parts = layout.parts.map((part, at) =>
      at === next ? resized(part, deeper, place, share) : part,
    );
    return { ...layout, parts };
  }
  const shares = [...layout.shares];
  const both = (shares[place] ?? 0) + (shares[place + 1] ?? 0);
  const own = Math.min(Math.max(share, LEAST), both - LEAST);
  shares[place] = own;
  shares[place + 1] = both - own;
  return { ...layout, shares, isSet: true };
}

/** How large the cameras are in the split that decides it, and what makes them another size. */
export function cameraSize(
  layout: Layout,
): { share: number; set: (share: number) => Layout } | null {
  const found = splitsOf(layout, "cameras", []);
  const best = found.findLast(({ part }) => part.lies === "column") ?? found.at(-1);
  if (!best) return null;
  const { part, path, place } = best;
  const share = part.shares[place] ?? 0;
  const isLast = place + 1 === part.parts.length;
  const both = share + (part.shares[place - 1] ?? 0);
  return {
    share,
    set: (wanted) =>
      isLast
        ? resized(layout, path, place - 1, both - wanted)
        : resized(layout, path, place, wanted),
  };
}

/** The splits on the way to a panel, the outermost first. */
function splitsOf(
  layout: Layout,
  name: PanelName,
  path: number[],
): { part: Split; path: number[]; place: number }[] {
  if (typeof layout === "string") return [];
  const place = layout.parts.findIndex((part) => panelsIn(part).includes(name));
  const part = layout.parts[place];
  if (!part) return [];
  return [{ part: layout, path, place }, ...splitsOf(part, name, [...path, place])];
}

/** Where every panel and every bar lies; `sharesOf` may set the share of a row's parts by its panels. */
export function rectsOf(
  layout: Layout,
  sharesOf: (split: Split, rect: Rect) => number[] = ({ shares }) => shares,
): { panels: Map<PanelName, Rect>; bars: Bar[] } {
  const panels = new Map<PanelName, Rect>();
  const bars: Bar[] = [];
  const walk = (part: Layout, rect: Rect, path: number[]) => {
    if (typeof part === "string") {
      panels.set(part, rect);
      return;
    }
    const shares = sharesOf(part, rect);
    let at = 0;
    part.parts.forEach((each, place) => {
      const share = shares[place] ?? 0;
      const isRow = part.lies === "row";
      walk(
        each,
        isRow
          ? { ...rect, left: rect.left + at * rect.width, width: share * rect.width }
          : { ...rect, top: rect.top + at * rect.height, height: share * rect.height },
        [...path, place],
      );
      const from = at;
      at += share;
      if (place + 1 < part.parts.length)
        bars.push({ path, place, lies: part.lies, rect, from, at });
    });
  };
  walk(layout, wholeBoard, []);
  return { panels, bars };
}

export function layoutText(layout: Layout): string {
  return JSON.stringify(layout);
}

/** A layout that was kept as text; null where it is none. */
export function readLayout(text: string | null | undefined): Layout | null {
  try {
    const found = checked(JSON.parse(text ?? "null"), 0);
    if (!found) return null;
    const names = panelsIn(found);
    return names.length && new Set(names).size === names.length ? found : null;
  } catch {
    return null;
  }
}

function checked(value: unknown, deep: number): Layout | null {
  if (typeof value === "string")
    return panelNames.includes(value as PanelName) ? (value as PanelName) : null;
  if (typeof value !== "object" || value === null || deep > MOST_DEEP) return null;
  const { lies, parts, shares, isSet } = value as Partial<Record<keyof Split, unknown>>;
  if ((lies !== "row" && lies !== "column") || !Array.isArray(parts) || !Array.isArray(shares))
    return null;
  const read = parts.map((part) => checked(part, deep + 1));
  const good = shares.every((each) => typeof each === "number" && each > 0 && each <= 1);
  if (!good || shares.length !== parts.length || parts.length < 2 || read.includes(null))
    return null;
  const made: Split = { lies, parts: read as Layout[], shares };
  return normal(isSet === true ? { ...made, isSet } : made);
}

function normal(part: Split): Split {
  const sum = part.shares.reduce((total, each) => total + each, 0) || 1;
  return { ...part, shares: part.shares.map((each) => each / sum) };
}

/** A row within a row is one row. */
function flat(layout: Layout): Layout {
  if (typeof layout === "string") return layout;
  const parts: Layout[] = [];
  const shares: number[] = [];
  layout.parts.map(flat).forEach((part, place) => {
    const share = layout.shares[place] ?? 0;
    if (typeof part === "string" || part.lies !== layout.lies) {
      parts.push(part);
      shares.push(share);
    } else
      part.parts.forEach((each, inner) => {
        parts.push(each);
        shares.push(share * (part.shares[inner] ?? 0));
      });
  });
  return normal({ ...layout, parts, shares });
}
