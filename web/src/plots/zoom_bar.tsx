import { useShortcuts } from "../parts/shortcuts";
import { type Clock, clockText } from "../player/clock";
import { useWindow } from "./use_window";
import type { ViewWindow } from "./window";

const CLOSER = 0.5;

/** The part of the episode that the plots show, and how to change it. */
export function ZoomBar({ clock, view }: { clock: Clock; view: ViewWindow }) {
  useWindow(view);
  const zoom = (factor: number) =>
    view.zoom(Math.min(Math.max(clock.timeNs, view.startNs), view.endNs), factor);
  useShortcuts("Plots", [
    { keys: ["z"], does: "Zoom in at the cursor", run: () => zoom(CLOSER) },
    { keys: ["Shift+z"], does: "Zoom out", run: () => zoom(1 / CLOSER) },
    { keys: ["0"], does: "Show the whole episode", run: () => view.reset() },
    { keys: ["<"], does: "Move the window back", run: () => view.pan(-view.spanNs / 4) },
    { keys: [">"], does: "Move the window on", run: () => view.pan(view.spanNs / 4) },
  ]);
  return (
    <div className="zoom-bar" role="group" aria-label="Zoom">
      <button
        type="button"
        className="quiet"
        aria-label="Zoom out"
        title="Zoom out (Shift+Z)"
        disabled={view.isWhole}
        onClick={() => zoom(1 / CLOSER)}
      >
        −
      </button>
      <button
        type="button"
        className="quiet"
        aria-label="Zoom in"
        title="Zoom in (Z); wheel or drag on a plot"
        onClick={() => zoom(CLOSER)}
      >
        +
      </button>
      <button
        type="button"
        className="quiet"
        title={`Shown: ${clockText(view.startNs)} to ${clockText(view.endNs)}. Show the whole episode (0, or double click on a plot)`}
        disabled={view.isWhole}
        onClick={() => view.reset()}
      >
        Fit
      </button>
    </div>
  );
}
