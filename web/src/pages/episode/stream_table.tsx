import type { EpisodeStream } from "../../api/schema";
import "./stream_table.css";

/** Every stream with its rate, as stated and as it is, its samples and its gaps. */
export function StreamTable({ streams }: { streams: EpisodeStream[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, or its keys act on it, so it takes the focus
    <div className="stream-table" tabIndex={0} role="region" aria-label="Streams">
      <table>
        <thead>
          <tr>
            <th scope="col">Stream</th>
            <th scope="col">Kind</th>
            <th scope="col">Rate</th>
            <th scope="col">Samples</th>
            <th scope="col">Gaps</th>
          </tr>
        </thead>
        <tbody>
          {streams.map((stream) => (
            <tr key={stream.path}>
              <th scope="row" title={stream.description ?? stream.path}>
                <span className="muted">{stream.group}/</span>
                <wbr />
                {stream.name}
              </th>
              <td>{stream.kind}</td>
              <td
                className="num"
                title={
                  stream.measured_hz === null
                    ? undefined
                    : `measured ${stream.measured_hz.toFixed(2)} Hz`
                }
              >
                {rate(stream)}
              </td>
              <td className="num">{stream.samples.toLocaleString("en")}</td>
              <td
                className="num"
                title={
                  stream.longest_gap_ns === null
                    ? undefined
                    : `longest step ${(stream.longest_gap_ns / 1e6).toFixed(1)} ms`
                }
              >
                {stream.gaps ?? "–"}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function rate({ rate_hz, measured_hz }: EpisodeStream): string {
  if (measured_hz === null) return rate_hz === null ? "–" : `${rate_hz} Hz`;
  const measured = measured_hz >= 100 ? measured_hz.toFixed(0) : measured_hz.toFixed(1);
  return rate_hz !== null && Math.abs(measured_hz - rate_hz) > 0.05 * rate_hz
    ? `${measured} of ${rate_hz} Hz`
    : `${measured} Hz`;
}
