import { colourOf, type Shape, shapeOf, viewOf } from "./card_words";
import type { EpisodeCard } from "./floor_state";

const scale = 1000;

/** The table from above, the robot below: every place, and the object where it is to lie. */
export function CardPicture({ card }: { card: EpisodeCard }) {
  if (!card.asked && !card.places.length) return null;
  const view = viewOf(card);
  // Ahead of the robot is up, its left is left: y counts to the left.
  const at = (x: number, y: number) => ({
    x: (view.left - y) * scale,
    y: (view.far - x) * scale,
  });
  const width = (view.left - view.right) * scale;
  const height = (view.far - view.near) * scale;
  const robot = 0.07 * scale;
  return (
    <svg
      className="card-picture"
      viewBox={`0 0 ${width} ${height + robot}`}
      role="img"
      aria-label={`The table from above: the object ${card.place ? `at ${card.place}` : "where it is drawn"}`}
    >
      <rect className="card-table" width={width} height={height} rx={14} />
      {card.places.map((place) => {
        const { x, y } = at(place.x_m, place.y_m);
        const isHere = place.level === card.place || card.places.length === 1;
        return (
          <g key={place.level} className={isHere ? "card-place card-here" : "card-place"}>
            <circle cx={x} cy={y} r={Math.max(place.radius_m * scale, 22)} />
            <text x={x} y={y + Math.max(place.radius_m * scale, 22) + 26}>
              {place.level.replaceAll("_", " ")}
            </text>
          </g>
        );
      })}
      {card.asked && (
        <ObjectDrawing
          {...at(card.asked.object_xyz[0], card.asked.object_xyz[1])}
          turn={(-180 / Math.PI) * card.asked.object_yaw_rad}
          shape={shapeOf(card)}
          colour={colourOf(card)}
        />
      )}
      <g className="card-robot">
        <rect x={width / 2 - 90} y={height + 12} width={180} height={robot - 14} rx={12} />
        <text x={width / 2} y={height + robot - 20}>
          robot
        </text>
      </g>
    </svg>
  );
}

/** The object from above; the dark line points where its front is to point. */
function ObjectDrawing({
  x,
  y,
  turn,
  shape,
  colour,
}: {
  x: number;
  y: number;
  turn: number;
  shape: Shape;
  colour: string;
}) {
  const body = {
    box: <rect x={-24} y={-24} width={48} height={48} rx={5} />,
    ball: <circle r={25} />,
    round: <circle r={26} />,
    long: <rect x={-9} y={-44} width={18} height={88} rx={9} />,
  }[shape];
  return (
    <g className="card-object" transform={`translate(${x} ${y}) rotate(${turn})`} fill={colour}>
      {body}
      {shape === "round" && <circle r={17} className="card-rim" />}
      <path d="M0 0V-46M-9 -36L0 -47L9 -36" />
    </g>
  );
}
