import { getAgreement, getPeople } from "../../api/labels";
import type { AnnotatorFacts } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { Link } from "../../parts/link";
import { Notice, Waiting } from "../../parts/notice";
import { GatesView } from "./gates_view";
import { biasWords, figure, lowestKappa, minutes, spoken } from "./wording";

/** Everybody who labels: how much, how fast, how well; and the three gates over all of them. */
export function People() {
  const answer = useAnswer(getPeople, []);
  const agreement = useAnswer(getAgreement, []);
  if (answer.error) return <Notice error={answer.error} again={answer.again} />;
  if (!answer.value) return <Waiting what="Loading the people" />;
  return (
    <>
      <header className="labels-head">
        <div>
          <h1>People</h1>
          <p>
            How far people agree when two label the same episode without seeing each other. Somebody
            who leans one way needs a word about a rule, not a reprimand.
          </p>
        </div>
      </header>
      {agreement.value && agreement.value.gates.episodes > 0 && (
        <GatesView gates={agreement.value.gates} />
      )}
      {agreement.value && agreement.value.alerts.length > 0 && (
        <ul className="people-alerts" aria-label="Alerts">
          {agreement.value.alerts.map((said) => (
            <li key={said}>{said.charAt(0).toUpperCase() + said.slice(1)}</li>
          ))}
        </ul>
      )}
      <section className="labels-section">
        {answer.value.length ? (
          <PersonTable people={answer.value} />
        ) : (
          <p className="labels-empty">
            Nobody labels yet. Add people on the command line:{" "}
            <code>corporeal account add NAME --role annotator</code>.
          </p>
        )}
      </section>
      <p className="muted">
        Which rule is to blame, and how agreement changes over time:{" "}
        <Link href="/dashboards#agreement_over_time">agreement charts</Link>.
      </p>
    </>
  );
}

function PersonTable({ people }: { people: AnnotatorFacts[] }) {
  return (
    <div className="card labels-scroll">
      <table className="labels-table">
        <thead>
          <tr>
            <th>Name</th>
            <th>Qualified for</th>
            <th>Accepted</th>
            <th>In progress</th>
            <th>Time</th>
            <th>Per episode</th>
            <th>Label agreement</th>
            <th>Boundary error</th>
            <th>Early / late bias</th>
          </tr>
        </thead>
        <tbody>
          {people.map((person) => (
            <PersonRow key={person.name} person={person} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function PersonRow({ person }: { person: AnnotatorFacts }) {
  const gates = person.figures;
  const kappa = gates && lowestKappa(gates);
  const near = gates?.mean_difference_frames ?? null;
  return (
    <tr>
      <td>
        <b>{person.name}</b> <span className="muted">{person.role}</span>
      </td>
      <td>
        {person.qualifications.length === 0 && <span className="muted">no test taken</span>}
        {person.qualifications.map((each) => (
          <span
            key={each.taxonomy}
            className={`chip ${each.passed ? "accepted" : "quarantined"}`}
            title={each.words}
          >
            {each.taxonomy}
            {!each.passed && ": not yet"}
          </span>
        ))}
      </td>
      <td className="num">{person.done}</td>
      <td className="num">{person.working}</td>
      <td className="num">{minutes(person.seconds)}</td>
      <td className="num">
        {person.seconds_per_episode === null ? "–" : minutes(person.seconds_per_episode)}
      </td>
      <td
        className={`num ${kappa && kappa.value < 0.8 ? "people-missed" : ""}`}
        title={kappa ? `kappa of ${spoken(kappa.name)}` : undefined}
      >
        {figure(kappa?.value ?? null)}
      </td>
      <td className={`num ${near !== null && near > 3 ? "people-missed" : ""}`}>
        {near === null ? "–" : `± ${near.toFixed(1)}`}
      </td>
      <td>{gates ? biasWords(gates) : <span className="muted">not measured yet</span>}</td>
    </tr>
  );
}
