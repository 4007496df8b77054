import type { Tone } from "../../api/dashboards";

/** Which colour means what. */
export function Legend({ tones }: { tones: Record<string, Tone> }) {
  const names = Object.entries(tones);
  if (names.length === 0) return null;
  return (
    <ul className="legend" aria-label="Colours">
      {names.map(([name, tone]) => (
        <li key={name}>
          <span className={`legend-sign back-${tone}`} aria-hidden />
          {name}
        </li>
      ))}
    </ul>
  );
}
