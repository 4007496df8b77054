// The times along the top of plots and timeline.
import { clockText } from "../player/clock";
import type { Inks } from "./draw";
import { ticks } from "./scale";

/** The axis of time above the plots. */
export function drawAxis(
  canvas: HTMLCanvasElement,
  startNs: number,
  endNs: number,
  inks: Inks,
  gutter: number,
): void {
  const scale = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (!context || width < gutter + 10) return;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.fillStyle = inks.ink;
  context.strokeStyle = inks.rule;
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  const seconds = ticks(startNs / 1e9, endNs / 1e9, (width - gutter) / 90);
  const step = seconds.length > 1 ? (seconds[1] as number) - (seconds[0] as number) : 1;
  const digits = Math.min(Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)), 6);
  context.beginPath();
  for (const second of seconds) {
    const x = gutter + ((second * 1e9 - startNs) / (endNs - startNs)) * (width - gutter);
    context.moveTo(Math.round(x) + 0.5, height - 4);
    context.lineTo(Math.round(x) + 0.5, height);
    context.textAlign = x < gutter + 16 ? "left" : x > width - 24 ? "right" : "center";
    context.fillText(clockText(Math.round(second * 1e9), digits), x, height / 2 - 1);
  }
  context.stroke();
}
