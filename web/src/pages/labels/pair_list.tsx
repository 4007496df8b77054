import { getPairs } from "../../api/labels";
import type { PairFacts } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { EpisodeName } from "../../parts/episode_name";
import { Link } from "../../parts/link";
import { Notice, Waiting } from "../../parts/notice";
import { plural, when } from "./wording";

/** Episodes about which two people differ. */
export function PairList() {
  const answer = useAnswer(getPairs, []);
  if (answer.error) return <Notice error={answer.error} again={answer.again} />;
  if (!answer.value) return <Waiting what="Loading what people differ about" />;
  const open = answer.value.filter((pair) => pair.state === "open");
  const done = answer.value.filter((pair) => pair.state === "done");
  return (
    <>
      <header className="labels-head">
        <div>
          <h1>Adjudication</h1>
          <p>
            Two people labelled these episodes and differ. One card for every difference, one key
            for every decision.
          </p>
        </div>
      </header>
      {!open.length && (
        <p className="labels-empty">
          Nothing to decide. Pairs that agree within the tolerance count without you; pairs that you
          labelled yourself are for another lead.
        </p>
      )}
      <ul className="labels-list">
        {open.map((pair) => (
          <PairRow key={pair.pair} pair={pair} />
        ))}
      </ul>
      {done.length > 0 && (
        <section className="labels-section">
          <h2>Decided</h2>
          <ul className="labels-list">
            {done.map((pair) => (
              <PairRow key={pair.pair} pair={pair} />
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function PairRow({ pair }: { pair: PairFacts }) {
  const left = pair.cards - pair.decided;
  return (
    <li className="card offer">
      <div>
        <h2>
          {pair.episode_task ?? "episode"}{" "}
          <span className="mono muted">
            <EpisodeName id={pair.episode} />
          </span>
        </h2>
        <p className="muted">
          {plural(pair.cards, "difference")}
          {pair.state === "open" && pair.decided > 0 && `, ${left} left`} · {pair.queue} ·{" "}
          {when(pair.changed_at)}
        </p>
      </div>
      <Link className="button" href={`/labels/adjudication/${encodeURIComponent(pair.pair)}`}>
        {pair.state === "done" ? "Look" : pair.decided ? "Go on" : "Decide"}
      </Link>
    </li>
  );
}
