import type { Point, Progress, Sight } from "./guide_feed";

// Outlines may reach beyond the picture: so much of its width is shown around it.
const around = 0.14;

interface Props {
  progress: Progress;
  sight: Sight | null;
  picture: string | null;
  shows: "uncertainty" | "coverage";
}

/** What the camera sees, with where the board is to be held, and how sure which part is. */
export function GuidePicture({ progress, sight, picture, shows }: Props) {
  const { width, height, asked, views } = progress;
  const margin = around * width;
  const box = `${-margin} ${-margin} ${width + 2 * margin} ${height + 2 * margin}`;
  const line = width / 160;
  return (
    <svg className="guide-stage" viewBox={box} role="img" aria-label={labelOf(progress)}>
      <rect className="guide-frame" x={0} y={0} width={width} height={height} />
      {picture && <image href={picture} x={0} y={0} width={width} height={height} />}
      {shows === "uncertainty" && <Uncertainty progress={progress} />}
      {shows === "coverage" &&
        views.map((view, number) => (
          <g key={number} className={`guide-view guide-view-${number % 10}`}>
            {view.map(([x, y], place) => (
              <circle key={place} cx={x} cy={y} r={line * 0.7} />
            ))}
          </g>
        ))}
      {asked && <Outline points={asked.outline} line={line} className="guide-ghost" />}
      {sight?.outline && (
        <Outline
          points={sight.outline}
          line={line * 0.7}
          className={sight.is_good ? "guide-seen guide-good" : "guide-seen"}
        />
      )}
      {sight?.is_taken && (
        <rect className="guide-taken" x={0} y={0} width={width} height={height} />
      )}
    </svg>
  );
}

/** A board's edge; its upper one is thicker, so that nobody holds it upside down. */
function Outline({
  points,
  line,
  className,
}: {
  points: Point[];
  line: number;
  className: string;
}) {
  const [first, second] = points;
  return (
    <g className={className} strokeWidth={line}>
      <polygon points={points.map((point) => point.join(",")).join(" ")} />
      {first && second && (
        <line x1={first[0]} y1={first[1]} x2={second[0]} y2={second[1]} strokeWidth={2.6 * line} />
      )}
    </g>
  );
}

function Uncertainty({ progress }: { progress: Progress }) {
  const { map, width, height, goal_px } = progress;
  if (!map) return null;
  const [wide, high] = [width / map.columns, height / map.rows];
  return (
    <g className="guide-map">
      {map.spread_px.map((spread, place) => (
        <rect
          key={place}
          x={(place % map.columns) * wide}
          y={Math.floor(place / map.columns) * high}
          width={wide}
          height={high}
          className={levelOf(spread, goal_px)}
        >
          <title>{`${spread} px`}</title>
        </rect>
      ))}
    </g>
  );
}

/** How sure a part is beside the goal: good parts stay clear, bad ones are coloured. */
export function levelOf(spread: number, goal: number): string {
  if (spread <= goal) return "guide-sure";
  if (spread <= 2 * goal) return "guide-unsure";
  if (spread <= 4 * goal) return "guide-bad";
  return "guide-unknown";
}

function labelOf({ camera, asked, views }: Progress): string {
  const words = asked ? `. Hold the ${asked.words}.` : "";
  return `${camera}, ${views.length} views taken${words}`;
}
