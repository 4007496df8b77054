import type { EpisodeFinding } from "../api/schema";
import { checkTitle } from "../parts/words";
import type { FindingBar } from "./timeline_rows";
import type { Tip } from "./timeline_tip";

const ROW_PX = 12;

interface Listeners {
  selected: number | null;
  onChoose: (finding: EpisodeFinding, startNs: number | null) => void;
  onTip: (tip: Tip | null) => void;
}

function label(finding: EpisodeFinding): string {
  return `${finding.severity}: ${checkTitle(finding.check)}. ${finding.message}`;
}

/** What was found, when: a mark for each moment, the worst in the upper rows. */
export function TimelineFindings({
  bars,
  rows,
  selected,
  onChoose,
  onTip,
}: Listeners & { bars: FindingBar[]; rows: number }) {
  const seen = new Set<number>();
  return (
    <div className="timeline-findings" style={{ height: rows * ROW_PX + 4 }}>
      {bars.map((bar) => {
        const { finding } = bar;
        const isFirst = !seen.has(finding.number);
        seen.add(finding.number);
        return (
          <button
            type="button"
            key={`${finding.number} ${bar.startNs}`}
            className={`timeline-finding ${finding.severity}`}
            data-finding={finding.number}
            aria-label={label(finding)}
            aria-current={finding.number === selected}
            // One stop of the Tab key for each finding is enough: n goes through all moments.
            tabIndex={isFirst ? 0 : -1}
            style={{
              left: `${bar.from * 100}%`,
              width: `${(bar.to - bar.from) * 100}%`,
              top: bar.row * ROW_PX + 2,
            }}
            onClick={() => onChoose(finding, bar.startNs)}
            onFocus={() => onTip({ timeNs: bar.startNs, finding })}
            onBlur={() => onTip(null)}
            onPointerEnter={() => onTip({ timeNs: bar.startNs, finding })}
          />
        );
      })}
    </div>
  );
}

/** What was found without a moment: about a whole stream, or the episode. */
export function TimelineThroughout({
  findings,
  selected,
  onChoose,
  onTip,
}: Listeners & { findings: EpisodeFinding[] }) {
  return (
    <div className="timeline-throughout">
      {findings.map((finding) => (
        <button
          type="button"
          key={finding.number}
          className={`timeline-whole ${finding.severity}`}
          data-finding={finding.number}
          aria-current={finding.number === selected}
          title={finding.message}
          onClick={() => onChoose(finding, null)}
          onPointerEnter={() => onTip(null)}
        >
          {checkTitle(finding.check)}
        </button>
      ))}
    </div>
  );
}
