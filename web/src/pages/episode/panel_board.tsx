import {
  type CSSProperties,
  type DragEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useRef,
  useState,
} from "react";
import type { Room } from "../../player/camera_grid";
import {
  type Bar,
  type Edge,
  type Layout,
  moved,
  type PanelName,
  panelsIn,
  placed,
  type Rect,
  rectsOf,
  resized,
  type Split,
} from "./layout";
import "./panel_board.css";
import { Splitter } from "./splitter";

export interface PanelBoardProps {
  layout: Layout;
  onLayout: (layout: Layout) => void;
  /** Whether the panels show handles by which they are moved. */
  isArranging: boolean;
  /** What stands in a panel; cameras are told how large they may get, and tell how wide they are. */
  panel: (name: PanelName, room: Room | undefined, onPacked: (width: number) => void) => ReactNode;
  titles: Record<PanelName, string>;
}

/** Beside the robot the cameras may take so much of their row. */
const MOST_CAMERAS = 0.76;
const LEAST_BESIDE = 0.16;
/** As high as in panel_board.css. */
const HANDLE_PX = 28;

/** The panels of a page where the layout has them: moved without being made anew. */
export function PanelBoard({ layout, onLayout, isArranging, panel, titles }: PanelBoardProps) {
  const board = useRef<HTMLDivElement>(null);
  const box = useSize(board);
  const [packed, setPacked] = useState(0);
  const [dragged, setDragged] = useState<PanelName | null>(null);
  const sharesOf = (split: Split, rect: Rect) => fitted(split, rect.width * box.width, packed);
  const { panels, bars } = rectsOf(layout, sharesOf);
  const own = panels.get("cameras");
  const row = rowOf(layout, "cameras");
  const room = own && {
    // What the cameras may take is of their row, whatever they take now.
    width: row?.hugs
      ? (rowWidth(layout, own, row.split, panels) * box.width - 3) * MOST_CAMERAS
      : own.width * box.width - 3,
    height: own.height * box.height - 3 - (isArranging ? HANDLE_PX : 0),
  };
  const onPacked = useCallback((width: number) => setPacked(width), []);
  const drop = (event: DragEvent, target: PanelName) => {
    event.preventDefault();
    if (dragged) onLayout(placed(layout, dragged, edgeOf(event), target));
    setDragged(null);
  };
  return (
    <div className={`board${isArranging ? " board-arranging" : ""}`} ref={board}>
      {panelsIn(layout)
        .toSorted()
        .map((name) => {
          const rect = panels.get(name) as Rect;
          const Part = name === "details" ? "aside" : "section";
          return (
            <Part
              key={name}
              className={`panel panel-${name}`}
              aria-label={titles[name]}
              style={styleOf(rect)}
              onDragOver={(event) => dragged && dragged !== name && event.preventDefault()}
              onDrop={(event) => drop(event, name)}
            >
              {isArranging && (
                <Handle
                  name={name}
                  title={titles[name]}
                  onMove={(edge) => onLayout(moved(layout, name, edge))}
                  onDrag={setDragged}
                />
              )}
              <div className="panel-body">
                {panel(name, name === "cameras" && box.width ? room : undefined, onPacked)}
              </div>
            </Part>
          );
        })}
      {bars.map((bar) => (
        <BoardBar
          key={`${bar.path.join(".")} ${bar.place}`}
          bar={bar}
          label={labelOf(layout, bar, titles)}
          onShare={(share) =>
            onLayout(resized(frozen(layout, sharesOf), bar.path, bar.place, share))
          }
        />
      ))}
    </div>
  );
}

function BoardBar({
  bar,
  label,
  onShare,
}: {
  bar: Bar;
  label: string;
  onShare: (share: number) => void;
}) {
  const { rect, from, at, lies } = bar;
  const style = { ...styleOf(rect), "--at": `${at * 100}%` } as CSSProperties;
  return (
    <div className="board-bar" style={style}>
      <Splitter
        label={label}
        lies={lies === "row" ? "vertical" : "horizontal"}
        value={at * 100}
        least={8}
        most={92}
        onChange={(value) => onShare(value / 100 - from)}
      />
    </div>
  );
}

/** What the border is named by: the panels before it. */
function labelOf(layout: Layout, { path, place, lies }: Bar, titles: Record<PanelName, string>) {
  let part: Layout = layout;
  for (const step of path) part = (part as Split).parts[step] as Layout;
  const before = panelsIn((part as Split).parts[place] as Layout).map((name) => titles[name]);
  return `Border ${lies === "row" ? "right of" : "below"} ${before.join(", ")}`;
}

const ways: [Edge, string][] = [
  ["left", "←"],
  ["top", "↑"],
  ["bottom", "↓"],
  ["right", "→"],
];

function Handle({
  name,
  title,
  onMove,
  onDrag,
}: {
  name: PanelName;
  title: string;
  onMove: (edge: Edge) => void;
  onDrag: (name: PanelName | null) => void;
}) {
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: for the pointer; the buttons inside do the same
    <div
      className="panel-handle"
      draggable
      onDragStart={(event) => {
        event.dataTransfer.effectAllowed = "move";
        event.dataTransfer.setData("text/plain", name);
        onDrag(name);
      }}
      onDragEnd={() => onDrag(null)}
    >
      <span aria-hidden>⠿</span> {title}
      <span className="panel-handle-ways">
        {ways.map(([edge, sign]) => (
          <button
            key={edge}
            type="button"
            className="quiet"
            aria-label={`Move ${title} to the ${edge}`}
            onClick={() => onMove(edge)}
          >
            {sign}
          </button>
        ))}
      </span>
    </div>
  );
}

/** As variables, so that a narrow page may lay its panels out by itself. */
function styleOf({ left, top, width, height }: Rect): CSSProperties {
  const style: Record<string, string> = {
    "--left": `${left * 100}%`,
    "--top": `${top * 100}%`,
    "--width": `${width * 100}%`,
    "--height": `${height * 100}%`,
  };
  return style;
}

/** The nearest edge of the panel under the pointer. */
function edgeOf({ clientX, clientY, currentTarget }: DragEvent): Edge {
  const box = currentTarget.getBoundingClientRect();
  const x = (clientX - box.left) / box.width;
  const y = (clientY - box.top) / box.height;
  const far: [Edge, number][] = [
    ["left", x],
    ["right", 1 - x],
    ["top", y],
    ["bottom", 1 - y],
  ];
  return far.reduce((best, each) => (each[1] < best[1] ? each : best))[0];
}

/** The row in which the cameras stand beside something, which takes what they leave. */
function rowOf(layout: Layout, name: PanelName): { split: Split; hugs: boolean } | null {
  if (typeof layout === "string") return null;
  if (layout.parts.includes(name)) return { split: layout, hugs: hugs(layout) };
  for (const part of layout.parts) {
    const found = rowOf(part, name);
    if (found) return found;
  }
  return null;
}

function hugs({ lies, parts, isSet }: Split): boolean {
  return lies === "row" && parts.includes("cameras") && !isSet;
}

/** The shares of a row in which the cameras are as wide as their pictures. */
function fitted(split: Split, width: number, packed: number): number[] {
  if (!hugs(split) || !packed || !width) return split.shares;
  const place = split.parts.indexOf("cameras");
  const own = Math.min((packed + 3) / width, 1 - LEAST_BESIDE);
  const rest = 1 - (split.shares[place] ?? 0) || 1;
  return split.shares.map((share, at) => (at === place ? own : (share / rest) * (1 - own)));
}

function rowWidth(layout: Layout, own: Rect, split: Split, panels: Map<PanelName, Rect>): number {
  const names = panelsIn(split).filter((name) => panelsIn(layout).includes(name));
  const rects = names.flatMap((name) => panels.get(name) ?? own);
  const left = Math.min(...rects.map((each) => each.left));
  return Math.max(...rects.map((each) => each.left + each.width)) - left;
}

/** The layout with the shares that are seen, so that a bar which is dragged begins where it is. */
function frozen(
  layout: Layout,
  sharesOf: (split: Split, rect: Rect) => number[],
  rect = full,
): Layout {
  if (typeof layout === "string") return layout;
  const shares = sharesOf(layout, rect);
  const isRow = layout.lies === "row";
  const parts = layout.parts.map((part, place) => {
    const share = shares[place] ?? 0;
    const inner = isRow
      ? { ...rect, width: rect.width * share }
      : { ...rect, height: rect.height * share };
    return frozen(part, sharesOf, inner);
  });
  return { ...layout, parts, shares };
}

const full: Rect = { left: 0, top: 0, width: 1, height: 1 };

function useSize(element: React.RefObject<HTMLElement | null>): Room {
  const [size, setSize] = useState<Room>({ width: 0, height: 0 });
  useEffect(() => {
    const seen = element.current;
    if (!seen) return;
    const measure = () => setSize({ width: seen.clientWidth, height: seen.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(seen);
    measure();
    return () => observer.disconnect();
  }, [element]);
  return size;
}
