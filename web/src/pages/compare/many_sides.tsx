import { useCallback, useMemo } from "react";
import { type Alignment, getComparison } from "../../api/comparison";
import { nameOf } from "../../api/names";
import type { EpisodeDetail } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { Link } from "../../parts/link";
import { Notice, VerdictChip } from "../../parts/notice";
import { keepInAddress } from "../../parts/router";
import { Transport } from "../../player/transport";
import { AlignmentChoice } from "./alignment_choice";
import { SAME } from "./following_clock";
import { LanesOfSides } from "./lanes_of_sides";
import "./many_sides.css";
import { Overlay } from "./overlay";
import "./side_by_side.css";
import { compareAddress, inkOf } from "./sides";
import { useSides } from "./use_sides";

/** Three episodes and more: their signals over each other, all on the time of the first. */
export function ManySides({ episodes, address }: { episodes: EpisodeDetail[]; address: URL }) {
  const asked = (address.searchParams.get("align") ?? "time") as Alignment;
  const first = episodes[0] as EpisodeDetail;
  const answer = useAnswer(
    (signal) =>
      Promise.all(episodes.slice(1).map((each) => getComparison(first.id, each.id, asked, signal))),
    [asked, ...episodes.map(({ id }) => id)],
  );
  const ways = answer.value ?? [];
  const moments = useMemo(() => answer.value && [SAME, ...answer.value], [answer.value]);
  const { sides, clock } = useSides(episodes, moments, address);
  const without = useCallback(
    (id: string) => compareAddress(episodes.map((each) => each.id).filter((each) => each !== id)),
    [episodes],
  );
  return (
    <div className="many">
      <header className="pair-head">
        <Link href="/episodes">‹ Episodes</Link>
        <h1>Compare {episodes.length} episodes</h1>
        <AlignmentChoice
          used={ways.every(({ align }) => align === asked) ? asked : "time"}
          ways={
            ways[0]?.ways.map((way) => ({
              ...way,
              possible: ways.every((each) => possible(each.ways, way.align)),
            })) ?? []
          }
          onChange={(next) => keepInAddress({ align: next })}
        />
      </header>
      {answer.error && <Notice error={answer.error} again={answer.again} />}
      <table className="many-list">
        <thead>
          <tr>
            <th scope="col">Episode</th>
            <th scope="col">Verdict</th>
            <th scope="col">Score</th>
            <th scope="col">Task</th>
            <th scope="col">Operator</th>
            <th scope="col">Outcome</th>
            <th scope="col">
              <span className="visually-hidden">Take out</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {sides.map(({ letter, episode: { id, row } }) => (
            <tr key={id}>
              <th scope="row">
                <b className="many-letter" style={{ background: inkOf(letter) }}>
                  {letter}
                </b>{" "}
                <Link href={`/episodes/${encodeURIComponent(id)}`} title={row.file}>
                  {nameOf(row)}
                </Link>
              </th>
              <td>
                <VerdictChip verdict={row.verdict} />
              </td>
              <td className="num">{row.score?.toFixed(2) ?? "–"}</td>
              <td>{row.task ?? "–"}</td>
              <td>{row.operator ?? "–"}</td>
              <td>{row.failure ?? (row.success ? "success" : "–")}</td>
              <td>
                <Link href={without(id)} aria-label={`Take ${letter} out`}>
                  ×
                </Link>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <section className="many-signals" aria-label="Signals of all">
        <Overlay sides={sides} clock={clock} />
      </section>
      <footer className="pair-foot">
        <LanesOfSides sides={sides} clock={clock} mark={null} isBrief />
        <Transport episode={first} clock={clock} />
      </footer>
    </div>
  );
}

function possible(ways: { align: Alignment; possible: boolean }[], align: Alignment): boolean {
  return ways.find((each) => each.align === align)?.possible ?? false;
}
