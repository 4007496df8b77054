import type { LinkView } from "./link";

/** How old things are: an operator feels it before it is understood. */
export function LatencyLine({ view }: { view: LinkView }) {
  const { state, roundTripMs, pictureAgeMs } = view;
  const values: [string, number | null | undefined][] = [
    ["socket there and back", roundTripMs],
    ["input", state?.latency_ms.input],
    ["input to command", state?.latency_ms.command],
    ["picture", pictureAgeMs],
  ];
  return (
    <dl className="latency" aria-label="Latency">
      {values.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className="num">{value == null ? "–" : `${value.toFixed(value < 10 ? 1 : 0)} ms`}</dd>
        </div>
      ))}
    </dl>
  );
}
