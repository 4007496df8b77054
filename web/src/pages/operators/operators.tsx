import { useState } from "react";
import { browseAddress } from "../../api/dashboards";
import { getFatigue, getOperators, getTraining } from "../../api/operators";
import type { OperatorFacts, OperatorsPage, PhaseFacts } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { Link } from "../../parts/link";
import { Notice, Waiting } from "../../parts/notice";
import { count } from "../../parts/words";
import { certificateText, hoursText, markOf } from "./operator_words";
import "./operators.css";

/** Who demonstrates, what they may collect, and what their episodes show, where it may be shown. */
export default function Operators(_: { address: URL }) {
  const answer = useAnswer(getOperators, []);
  const [chosen, setChosen] = useState<string | null>(null);
  if (answer.error && !answer.value) return <Notice error={answer.error} again={answer.again} />;
  if (!answer.value) return <Waiting what="Loading the operators" />;
  const page = answer.value;
  return (
    <div className="operators">
      <header>
        <h1>Operators</h1>
        <p className="muted">
          Privacy mode <b>{page.privacy}</b>: {page.privacy_words}.
        </p>
      </header>
      <Rules page={page} />
      {page.operators.length === 0 ? (
        <Nothing />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it
        <section className="card operators-card" aria-label="Operators" tabIndex={0}>
          <table className="operators-table">
            <thead>
              <tr>
                <th>Operator</th>
                <th>Certificates</th>
                <th className="number">Before</th>
                <th className="number">Episodes</th>
                <th className="number">Recorded</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {page.operators.map((each) => (
                <Row
                  key={each.name}
                  operator={each}
                  isOpen={chosen === each.name}
                  onOpen={() => setChosen(chosen === each.name ? null : each.name)}
                />
              ))}
            </tbody>
          </table>
          {page.hidden && <p className="muted">Figures and evidence are {page.hidden}</p>}
        </section>
      )}
      {chosen && <Training key={chosen} name={chosen} />}
      <Fatigue />
    </div>
  );
}

function Rules({ page }: { page: OperatorsPage }) {
  if (!page.certified_tasks.length)
    return (
      <p className="operators-rule">
        No task asks for a certificate: everybody's data counts. To ask for one:{" "}
        <code>corporeal operator require TASK</code>
      </p>
    );
  return (
    <p className="operators-rule">
      Data of {page.certified_tasks.join(", ")} counts only with a certificate.{" "}
      <Link href={browseAddress("practice is known") ?? "/episodes"}>
        {count(page.practice, "episode")} in practice
      </Link>
    </p>
  );
}

function Nothing() {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it
    <section className="card operators-card" aria-label="No operator" tabIndex={0}>
      <h2>No operator that is shown to you</h2>
      <p>Leads add people by the pseudonym that their episodes state:</p>
      <pre>corporeal operator add op07 --hours-before 40</pre>
    </section>
  );
}

function Row({
  operator,
  isOpen,
  onOpen,
}: {
  operator: OperatorFacts;
  isOpen: boolean;
  onOpen: () => void;
}) {
  const isShown = operator.episodes !== null;
  return (
    <tr className={operator.left ? "operator-left" : undefined}>
      <th scope="row">
        {operator.name}
        {operator.left && <small> has left</small>}
      </th>
      <td>
        {operator.certificates.length === 0 && <span className="muted">none</span>}
        {operator.certificates.map((each) => (
          <span
            key={each.task + each.valid_from}
            className={each.holds ? "chip chip-good" : "chip"}
            title={each.revoked_why ?? undefined}
          >
            {certificateText(each)}
          </span>
        ))}
      </td>
      <td className="number">{hoursText(operator.hours_before)}</td>
      <td className="number">{operator.episodes?.toLocaleString("en") ?? "–"}</td>
      <td className="number">{hoursText(operator.hours)}</td>
      <td>
        {isShown && (
          <button type="button" className="quiet" aria-expanded={isOpen} onClick={onOpen}>
            Training
          </button>
        )}
      </td>
    </tr>
  );
}

function Training({ name }: { name: string }) {
  const answer = useAnswer((signal) => getTraining(name, signal), [name]);
  if (answer.error && !answer.value) return <Notice error={answer.error} again={answer.again} />;
  if (!answer.value) return <Waiting what={`Counting the evidence of ${name}`} />;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it
    <section className="card operators-card" aria-label={`Training of ${name}`} tabIndex={0}>
      <h2>Training of {name}</h2>
      {answer.value.length === 0 && (
        <p>
          Nothing was begun yet: <code>corporeal operator begin {name} TASK practice</code>
        </p>
      )}
      {answer.value.map((training) => (
        <div key={training.task} className="training">
          <h3>
            {training.task.replaceAll("_", " ")}{" "}
            <small className="muted">{training.document}</small>
            {training.ready && <span className="chip chip-good">ready for a certificate</span>}
          </h3>
          <ol>
            {training.phases.map((phase) => (
              <Phase key={phase.phase} phase={phase} />
            ))}
          </ol>
        </div>
      ))}
    </section>
  );
}

function Phase({ phase }: { phase: PhaseFacts }) {
  const progress = phase.wanted ? `${phase.episodes} of ${phase.wanted}` : `${phase.episodes}`;
  return (
    <li>
      <p>
        <b>{phase.phase}</b>{" "}
        <span className={phase.state === "passed" ? "chip chip-good" : "chip"}>{phase.state}</span>
        {phase.state !== "not begun" && (
          <span className="muted">
            {" "}
            {progress} episodes{phase.attempt > 1 && `, attempt ${phase.attempt}`}
          </span>
        )}
      </p>
      <ul>
        {phase.criteria.map((each) => (
          <li key={each.name} className={`criterion criterion-${markOf(each.passed)}`}>
            <b>{each.name}</b> {each.words}
          </li>
        ))}
      </ul>
    </li>
  );
}

function Fatigue() {
  const answer = useAnswer(getFatigue, []);
  if (answer.error && !answer.value) return <Notice error={answer.error} again={answer.again} />;
  if (!answer.value) return <Waiting what="Fitting the drift" />;
  const { hidden, people, sessions, breaks, drifts } = answer.value;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it
    <section className="card operators-card" aria-label="Fatigue" tabIndex={0}>
      <h2>Does work without a break show?</h2>
      {hidden ? (
        <p className="muted">Figures of few people together are {hidden}</p>
      ) : (
        <>
          <p className="muted">
            {count(sessions ?? 0, "session")} of {count(people ?? 0, "operator")},{" "}
            {count(breaks ?? 0, "break")} in them.
          </p>
          <dl className="drifts">
            {drifts.map((each) => (
              <div key={each.outcome} className={each.seen ? "drift-seen" : undefined}>
                <dt>{each.outcome}</dt>
                <dd>{each.words}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
    </section>
  );
}
