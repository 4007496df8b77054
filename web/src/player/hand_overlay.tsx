import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { getHands, HANDS_AT_ONCE, type HandRun } from "../api/hands";
import type { EpisodeDetail } from "../api/schema";
import { useKept } from "../parts/use_kept";
import "./hand_overlay.css";
import { type HandStrokes, handsInWords, strokesOf } from "./hand_strokes";

export interface HandOverlayProps {
  episode: EpisodeDetail;
  stream: string;
  /** Told whenever the picture below shows another frame; -1 for none. */
  shown: RefObject<((frame: number) => void) | null>;
}

/** Two canvas pixels for one of the picture keep thin lines sharp. */
const FINE = 2;
const KEPT_RUNS = 8;
const COLOURS = { left: "#4cc2ff", right: "#ffb03a" };

/** A person's hands over the picture of a camera, where its lens shows them. */
export function HandOverlay({ episode, stream, shown }: HandOverlayProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [isOn, setOn] = useKept("studio.hands", true);
  const [reason, setReason] = useState<string | null>(null);
  const [words, setWords] = useState("");
  const frame = useRef(-1);
  const runs = useRef(new Map<number, HandRun | null>());
  const draw = useCallback(() => {
    const run = runs.current.get(Math.floor(frame.current / HANDS_AT_ONCE));
    const strokes = run && isOn ? strokesOf(run, frame.current) : [];
    if (canvas.current) paint(canvas.current, run ?? null, strokes);
    if (canvas.current) canvas.current.dataset.handsOf = String(frame.current);
    setWords(handsInWords(strokes));
  }, [isOn]);
  useEffect(() => {
    const stop = new AbortController();
    const ask = (number: number) => {
      if (number < 0 || runs.current.has(number)) return;
      runs.current.set(number, null);
      while (runs.current.size > KEPT_RUNS) {
        const oldest = runs.current.keys().next().value as number;
        runs.current.delete(oldest);
      }
      getHands(episode.id, stream, number * HANDS_AT_ONCE, stop.signal).then(
        (run) => {
          runs.current.set(number, run);
          setReason(run.reason);
          draw();
        },
        () => runs.current.delete(number),
      );
    };
    const tell = (next: number) => {
      frame.current = next;
      if (next >= 0) {
        const number = Math.floor(next / HANDS_AT_ONCE);
        ask(number);
        if (next % HANDS_AT_ONCE > HANDS_AT_ONCE / 2) ask(number + 1);
      }
      draw();
    };
    shown.current = tell;
    tell(frame.current);
    return () => {
      stop.abort();
      runs.current.clear();
      shown.current = null;
    };
  }, [episode.id, stream, shown, draw]);
  return (
    <>
      <canvas
        ref={canvas}
        className="hand-overlay"
        role="img"
        aria-label={isOn ? `Hands: ${words}` : "Hands, hidden"}
      />
      <button
        type="button"
        className="hand-switch"
        aria-pressed={isOn}
        title={
          reason ?? "Hands: left blue, right orange; dashed between two samples, paler where unsure"
        }
        disabled={reason !== null}
        onClick={(event) => {
          event.stopPropagation();
          setOn(!isOn);
        }}
      >
        Hands
      </button>
    </>
  );
}

function paint(canvas: HTMLCanvasElement, run: HandRun | null, strokes: HandStrokes[]): void {
  const [width, height] = run ? [run.width * FINE, run.height * FINE] : [2, 2];
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  const context = canvas.getContext("2d");
  if (!context || !run) return;
  context.setTransform(FINE, 0, 0, FINE, 0, 0);
  context.clearRect(0, 0, run.width, run.height);
  context.lineCap = "round";
  const thick = run.width / 260;
  for (const { side, isBetween, bones, dots, trail } of strokes) {
    context.strokeStyle = COLOURS[side];
    context.fillStyle = COLOURS[side];
    context.setLineDash([]);
    context.lineWidth = thick;
    trail.forEach((to, k) => {
      const from = trail[k - 1];
      if (!from || !to) return;
      context.globalAlpha = (0.6 * k) / trail.length;
      line(context, from, to);
    });
    context.setLineDash(isBetween ? [2 * thick, 2 * thick] : []);
    for (const { from, to, opacity } of bones) {
      context.globalAlpha = opacity;
      line(context, from, to);
    }
    context.setLineDash([]);
    for (const { at, radius, opacity } of dots) {
      context.globalAlpha = opacity;
      context.beginPath();
      context.arc(at[0], at[1], radius, 0, 2 * Math.PI);
      if (isBetween) context.stroke();
      else context.fill();
    }
  }
  context.globalAlpha = 1;
}

function line(context: CanvasRenderingContext2D, from: [number, number], to: [number, number]) {
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
}
