import { type KeyboardEvent, type ReactNode, type SyntheticEvent, useRef } from "react";
import type { EpisodeStream } from "../api/schema";
import "./view_tile.css";
import type { Frames } from "./use_frames";
import { usePictureZoom } from "./use_picture_zoom";

export interface TileControls {
  /** The digit that chooses it; null beyond 9. */
  digit: number | null;
  isChosen: boolean;
  isLarge: boolean;
  onChoose: () => void;
  onLarge: () => void;
  onHide: () => void;
}

export interface ViewTileProps extends TileControls {
  stream: EpisodeStream;
  frames: Frames;
  isWaiting: boolean;
  children?: ReactNode;
  onPoint?: (x: number, y: number) => void;
  onLeave?: () => void;
}

/** One picture on the dark stage, with its name, its frame, and what is wrong with it. */
export function ViewTile(props: ViewTileProps) {
  const { stream, frames, isWaiting, isChosen, isLarge, digit, children } = props;
  const kind = stream.kind === "depth" ? "depth" : "camera";
  const tile = useRef<HTMLElement>(null);
  const zoom = usePictureZoom(tile);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey)
      return;
    if (zoom.onKey(event)) {
      event.preventDefault();
      return;
    }
    if (event.key !== "Enter") return;
    event.preventDefault();
    props.onChoose();
    props.onLarge();
  };
  return (
    <figure
      ref={tile}
      className={`view-tile${isChosen ? " view-tile-chosen" : ""}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, or its keys act on it, so it takes the focus
      tabIndex={0}
      aria-label={`${kind} ${stream.path}${isChosen ? ", chosen for stepping" : ""}`}
      data-tile={stream.path}
      onKeyDown={onKeyDown}
      onClick={props.onChoose}
      onDoubleClick={() => void fullScreen(tile.current)}
    >
      <canvas
        ref={frames.canvas}
        role="img"
        aria-label={`Picture of ${stream.path}`}
        data-stream={stream.path}
        data-frame="-1"
        onPointerMove={(event) =>
          point(event.currentTarget, event.clientX, event.clientY, props.onPoint)
        }
        onPointerLeave={props.onLeave}
      />
      <figcaption className="view-tile-caption">
        {digit !== null && <kbd aria-hidden>{digit}</kbd>}
        <b title={stream.path}>{stream.name}</b>
        <span className="num" ref={frames.caption}>
          {isWaiting ? "loading…" : ""}
        </span>
      </figcaption>
      {/* A click on a button is no click on the picture, which would choose the camera. */}
      {/** biome-ignore lint/a11y/noStaticElementInteractions: it only watches what happens to the controls inside */}
      {/** biome-ignore lint/a11y/useKeyWithClickEvents: for the pointer only; keys reach the same by the controls inside */}
      <span className="view-tile-buttons" onClick={stay} onDoubleClick={stay}>
        {zoom.scale > 1 && (
          <button
            type="button"
            className="num"
            aria-label={`Show all of ${stream.name}`}
            title="Show the whole picture (0)"
            onClick={zoom.reset}
          >
            {zoom.scale.toFixed(1)}×
          </button>
        )}
        <button
          type="button"
          aria-label={`${stream.name} on the full screen`}
          title="Full screen (double click)"
          onClick={() => void fullScreen(tile.current)}
        >
          □
        </button>
        <button
          type="button"
          aria-label={isLarge ? `Show all cameras` : `Enlarge ${stream.name}`}
          title={isLarge ? "Show all (f)" : "Enlarge (f)"}
          onClick={props.onLarge}
        >
          {isLarge ? "⤡" : "⤢"}
        </button>
        {!isLarge && (
          <button
            type="button"
            aria-label={`Hide ${stream.name}`}
            title="Hide"
            onClick={props.onHide}
          >
            ×
          </button>
        )}
      </span>
      {children}
      {frames.error && (
        <div className="view-tile-error" role="alert" onDoubleClick={stay}>
          <p>{frames.error.message}</p>
          <button type="button" onClick={frames.again}>
            Try again
          </button>
        </div>
      )}
    </figure>
  );
}

/** The picture alone on the screen, or back on the page. */
async function fullScreen(element: HTMLElement | null): Promise<void> {
  if (document.fullscreenElement) await document.exitFullscreen();
  // A browser that does not let pages do so leaves the picture where it is.
  else await element?.requestFullscreen?.().catch(() => undefined);
}

function stay(event: SyntheticEvent): void {
  event.stopPropagation();
}

/** Shares of width and height at which the pointer is in the picture, which may not fill its canvas' box. */
function point(
  canvas: HTMLCanvasElement,
  clientX: number,
  clientY: number,
  tell?: (x: number, y: number) => void,
) {
  if (!tell || !canvas.width) return;
  const box = canvas.getBoundingClientRect();
  const scale = Math.min(box.width / canvas.width, box.height / canvas.height);
  const x = (clientX - box.left - (box.width - canvas.width * scale) / 2) / (canvas.width * scale);
  const y =
    (clientY - box.top - (box.height - canvas.height * scale) / 2) / (canvas.height * scale);
  tell(x, y);
}
