import { getMyWork } from "../../api/labels";
import type { MyWork } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { Notice, Waiting } from "../../parts/notice";
import { GatesView } from "./gates_view";
import "./my_work.css";
import { OfferCard } from "./offer_card";
import { TaskRow } from "./task_row";
import { minutes, plural } from "./wording";

/** What an annotator does next, what came back to them, and how they agree with the others. */
export function MyWorkPage() {
  const answer = useAnswer(getMyWork, []);
  if (answer.error) return <Notice error={answer.error} again={answer.again} />;
  if (!answer.value) return <Waiting what="Looking for your work" />;
  return <Work work={answer.value} again={answer.again} />;
}

function Work({ work, again }: { work: MyWork; again: () => void }) {
  const returned = work.tasks.filter((task) => task.state === "returned");
  const begun = work.tasks.filter((task) => task.state === "working" || task.state === "open");
  const waiting = work.tasks.filter((task) => task.state === "submitted");
  return (
    <>
      <header className="labels-head">
        <div>
          <h1>My work</h1>
          <p>
            {work.done || waiting.length
              ? `${plural(work.done, "episode")} accepted, ${waiting.length} with the lead. ${minutes(work.seconds)} at work so far.`
              : "Take a task: the episode opens with boundaries already proposed, and you say whether they are right."}
          </p>
        </div>
      </header>
      <ul className="labels-list" aria-label="Queues">
        {work.offers.map((offer, place) => (
          <OfferCard key={offer.queue} offer={offer} isFirst={place === 0} again={again} />
        ))}
      </ul>
      {!work.offers.length && (
        <p className="labels-empty">
          No queue has a task for you now. A lead makes queues under Labels, Queues.
        </p>
      )}
      {returned.length > 0 && <Tasks title="Returned to you" tasks={returned} />}
      {begun.length > 0 && <Tasks title="Begun" tasks={begun} />}
      <Figures work={work} />
      {waiting.length > 0 && <Tasks title="With the lead" tasks={waiting} />}
    </>
  );
}

function Tasks({ title, tasks }: { title: string; tasks: MyWork["tasks"] }) {
  return (
    <section className="labels-section">
      <h2>{title}</h2>
      <ul className="card my-tasks">
        {tasks.map((task) => (
          <TaskRow key={task.id} task={task} />
        ))}
      </ul>
    </section>
  );
}

function Figures({ work }: { work: MyWork }) {
  return (
    <section className="labels-section" aria-label="My figures">
      <h2>How you and the others agree</h2>
      {work.figures && work.figures.episodes > 0 ? (
        <>
          <GatesView gates={work.figures} />
          {work.words.map((said) => (
            <p key={said} className="my-words">
              {said}
            </p>
          ))}
        </>
      ) : (
        <p className="muted">
          One episode in ten is labelled by two people who do not see each other. As soon as one of
          yours was, you see here how close you were.
        </p>
      )}
      {work.qualifications.map((each) => (
        <p key={`${each.taxonomy} ${each.at}`} className="my-words">
          <span className={`chip ${each.passed ? "accepted" : "quarantined"}`}>
            {each.passed ? "qualified" : "not yet qualified"}
          </span>{" "}
          for {each.taxonomy}, {each.at.slice(0, 10)}. {each.words}
        </p>
      ))}
    </section>
  );
}
