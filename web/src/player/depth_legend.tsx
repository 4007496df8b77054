import { useState } from "react";
import { legendGradient } from "./depth_colours";
import "./depth_legend.css";

/** Metres (counts where the unit is no length); null follows each frame. */
export interface DepthRange {
  near: number | null;
  far: number | null;
}

export interface DepthLegendProps {
  name: string;
  near: number;
  far: number;
  metresPerUnit: number | null;
  under: string;
  onRange: (range: DepthRange) => void;
}

/** The colours and what they mean; its ends can be fixed. */
export function DepthLegend({ name, near, far, metresPerUnit, under, onRange }: DepthLegendProps) {
  const [isOpen, setOpen] = useState(false);
  const [range, setRange] = useState<DepthRange>({ near: null, far: null });
  const unit = metresPerUnit ?? 1;
  const text = (count: number) =>
    metresPerUnit ? `${(count * unit).toFixed(2)} m` : String(Math.round(count));
  const choose = (wanted: DepthRange) => {
    setRange(wanted);
    onRange(wanted);
  };
  const field = (end: "near" | "far", count: number) => (
    <label>
      {end}
      <input
        type="number"
        step={metresPerUnit ? 0.1 : 1}
        min={0}
        placeholder={(count * unit).toFixed(metresPerUnit ? 2 : 0)}
        value={range[end] ?? ""}
        onChange={(event) =>
          choose({ ...range, [end]: event.target.value === "" ? null : Number(event.target.value) })
        }
      />
    </label>
  );
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only watches what happens to the controls inside
    <div className="depth-legend" onDoubleClick={(event) => event.stopPropagation()}>
      <button
        type="button"
        className="depth-legend-scale num"
        aria-expanded={isOpen}
        title={`Range of ${name}. Change it`}
        onClick={() => setOpen(!isOpen)}
      >
        <span>{text(near)}</span>
        <i style={{ backgroundImage: legendGradient() }} />
        <span>{text(far)}</span>
      </button>
      {under && <output className="num">{under}</output>}
      {isOpen && (
        <div className="depth-legend-range">
          {field("near", near)}
          {field("far", far)}
          <button type="button" onClick={() => choose({ near: null, far: null })}>
            Follow each frame
          </button>
        </div>
      )}
    </div>
  );
}
