import { useState } from "react";
import type { HistogramBar } from "../../api/schema";
import "./histogram.css";
import { countText } from "./wording";

interface Props {
  title: string;
  bars: HistogramBar[];
  isSet: boolean;
  span: (low: string, high: string) => string;
  onSpan: (span: string) => void;
  onClear: () => void;
}

/** Bars that narrow the query: press one, or drag (or press with Shift) over several. */
export function Histogram({ title, bars, isSet, span, onSpan, onClear }: Props) {
  const [from, setFrom] = useState<number | null>(null);
  const [to, setTo] = useState<number | null>(null);
  const [last, setLast] = useState<number | null>(null);
  const first = bars[0];
  const end = bars[bars.length - 1];
  if (!first || !end || !bars.some((bar) => bar.count)) return null;
  const most = Math.max(1, ...bars.map((bar) => bar.count));
  const choose = (one: number, other: number) => {
    const low = bars[Math.min(one, other)];
    const high = bars[Math.max(one, other)];
    if (low && high) onSpan(span(low.low, high.high));
  };
  const isBetween = (place: number) =>
    from !== null && to !== null && place >= Math.min(from, to) && place <= Math.max(from, to);
  return (
    <section className="histogram" aria-label={title}>
      <header>
        <h3>{title}</h3>
        {isSet && (
          <button type="button" className="quiet" onClick={onClear}>
            clear
          </button>
        )}
      </header>
      <div
        className="histogram-bars"
        onPointerLeave={() => {
          setFrom(null);
          setTo(null);
        }}
      >
        {bars.map((bar, place) => (
          <button
            key={bar.low}
            type="button"
            className={isBetween(place) ? "histogram-bar marked" : "histogram-bar"}
            title={`${bar.low} to ${bar.high}: ${countText(bar.count)}`}
            aria-label={`${title} ${bar.low} to ${bar.high}, ${countText(bar.count)} episodes`}
            onPointerDown={(event) => {
              event.currentTarget.releasePointerCapture(event.pointerId);
              setFrom(place);
              setTo(place);
            }}
            onPointerEnter={() => from !== null && setTo(place)}
            onPointerUp={() => {
              if (from !== null && from !== place) choose(from, place);
              setFrom(null);
            }}
            onClick={(event) => {
              choose(event.shiftKey && last !== null ? last : place, place);
              setLast(place);
            }}
          >
            <span style={{ height: `${bar.count ? Math.max(4, (bar.count / most) * 100) : 0}%` }} />
          </button>
        ))}
      </div>
      <footer className="num">
        <span>{first.low}</span>
        <span>{end.high}</span>
      </footer>
    </section>
  );
}
