import { clockText, RATES } from "../../player/clock";
import { useClockState, useClockTime } from "../../player/use_clock";
import { accept, goTo } from "./actions";
import type { Bench } from "./use_bench";

/** Where the clock stands in frames, how fast it goes, and the way from boundary to boundary. */
export function BenchTransport({ bench }: { bench: Bench }) {
  const { clock, line, stops, segment, canEdit } = bench;
  const { isPlaying, rate } = useClockState(clock);
  const time = useClockTime(clock, 50);
  const open = new Set(stops.filter((each) => !each.confirmed).map((each) => each.id)).size;
  const all = new Set(stops.map((each) => each.id)).size;
  return (
    <div className="bench-transport" role="group" aria-label="Playing">
      <span>
        <button
          type="button"
          className="quiet"
          aria-label="One picture back"
          title="One picture back (,)"
          onClick={() => clock.step(-1)}
        >
          ‹
        </button>
        <button
          type="button"
          className="bench-play"
          aria-label={isPlaying ? "Pause" : "Play"}
          title="Space"
          onClick={() => clock.toggle()}
        >
          <span aria-hidden>{isPlaying ? "❚❚" : "▶"}</span>
        </button>
        <button
          type="button"
          className="quiet"
          aria-label="One picture on"
          title="One picture on (.)"
          onClick={() => clock.step(1)}
        >
          ›
        </button>
      </span>
      <span className="num bench-place">
        <b data-frame-now={line.frameOf(time)}>frame {line.frameOf(time)}</b>
        <span className="muted">
          {" "}
          / {Math.max(line.count - 1, 0)} · {clockText(time)}
        </span>
      </span>
      <span role="group" aria-label="Speed">
        {RATES.map((each) => (
          <button
            key={each}
            type="button"
            className="quiet num"
            aria-pressed={rate === each}
            aria-label={`${each}x speed`}
            onClick={() => clock.setRate(each)}
          >
            {each}x
          </button>
        ))}
      </span>
      <span className="bench-verify">
        <span className="bench-progress num" role="status">
          {all
            ? open
              ? `${all - open} of ${all} confirmed`
              : `all ${all} confirmed`
            : "nothing labelled yet"}
          {all > 0 && <progress max={all} value={all - open} aria-label="Confirmed" />}
        </span>
        <button
          type="button"
          className="quiet"
          title="Boundary before (↑)"
          aria-label="Boundary before"
          onClick={() => goTo(bench, -1)}
        >
          ↑
        </button>
        <button
          type="button"
          className="quiet"
          title="Next boundary (↓)"
          aria-label="Next boundary"
          onClick={() => goTo(bench, 1)}
        >
          ↓
        </button>
        {(open > 0 || segment) && (
          <button
            type="button"
            className="primary"
            disabled={!canEdit}
            onClick={() => accept(bench)}
          >
            {segment && !segment.confirmed ? "Accept" : open ? "Next to confirm" : "Done with it"}{" "}
            <kbd>Enter</kbd>
          </button>
        )}
      </span>
    </div>
  );
}
