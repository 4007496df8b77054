import type { ValueDistribution } from "../../api/schema";
import "./distribution_strip.css";

const WIDTH = 300;
const HEIGHT = 34;
const BASE = 28;

export interface DistributionStripProps {
  distribution: ValueDistribution;
  value: number | null;
  label: string;
}

/** How the task is spread from 0 to 1, its middle half and median, and where this episode lies. */
export function DistributionStrip({ distribution, value, label }: DistributionStripProps) {
  const { counts, quartiles, median, episodes } = distribution;
  const most = Math.max(1, ...counts);
  const width = WIDTH / counts.length;
  return (
    <svg
      className="strip"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={words(label, distribution, value)}
    >
      {episodes > 1 &&
        counts.map((count, place) => (
          <rect
            key={place}
            className="strip-bin"
            x={place * width + 0.5}
            width={width - 1}
            y={BASE - (count / most) * BASE}
            height={(count / most) * BASE}
          />
        ))}
      <line className="strip-axis" x1={0} x2={WIDTH} y1={BASE} y2={BASE} />
      {quartiles.length === 2 && episodes > 3 && (
        <rect
          className="strip-middle"
          x={(quartiles[0] ?? 0) * WIDTH}
          width={((quartiles[1] ?? 0) - (quartiles[0] ?? 0)) * WIDTH}
          y={BASE}
          height={4}
        />
      )}
      {median !== null && episodes > 1 && (
        <rect
          className="strip-median"
          x={clip(median) * WIDTH - 1}
          width={2}
          y={BASE - 2}
          height={HEIGHT - BASE + 2}
        />
      )}
      {value !== null && (
        <rect className="strip-own" x={clip(value) * (WIDTH - 4)} width={4} y={0} height={HEIGHT} />
      )}
    </svg>
  );
}

function clip(value: number): number {
  return Math.min(Math.max(value, 0), 1);
}

function words(
  label: string,
  { episodes, median }: ValueDistribution,
  value: number | null,
): string {
  const own = value === null ? "not assessed" : value.toFixed(2);
  return `${label}: ${own}; the median of ${episodes} episodes is ${median === null ? "not known" : median.toFixed(2)}`;
}
