import { useEffect, useState } from "react";
import { getQueues } from "../../api/labels";
import { useAnswer } from "../../api/use_answer";
import { Notice, Waiting } from "../../parts/notice";
import { useShortcuts } from "../../parts/shortcuts";
import { QueueCard } from "./queue_card";
import { QueueForm } from "./queue_form";
import "./queues.css";

const LOOK_AGAIN_MS = 1000;

/** All queues with how far they are, and a way to make one. */
export function Queues() {
  const answer = useAnswer(getQueues, []);
  const [isMaking, setMaking] = useState(() =>
    new URL(window.location.href).searchParams.has("query"),
  );
  useShortcuts(
    "Queues",
    [{ keys: ["n"], does: "New queue", run: () => setMaking(true) }],
    !isMaking,
  );
  const isRunning = answer.value?.some((queue) => queue.making?.is_running) ?? false;
  const { again } = answer;
  useEffect(() => {
    if (!isRunning) return;
    const timer = setTimeout(again, LOOK_AGAIN_MS);
    return () => clearTimeout(timer);
  });
  if (answer.error && !answer.value) return <Notice error={answer.error} again={answer.again} />;
  if (!answer.value) return <Waiting what="Loading the queues" />;
  const isFirst = answer.value.length === 0;
  return (
    <>
      <header className="labels-head">
        <div>
          <h1>Queues</h1>
          <p>
            Episodes to be labelled under one taxonomy. Boundaries are proposed from the signals;
            people confirm or fix them.
          </p>
        </div>
        {!isMaking && !isFirst && (
          <button type="button" className="primary" onClick={() => setMaking(true)}>
            New queue <kbd aria-hidden>n</kbd>
          </button>
        )}
      </header>
      {(isMaking || isFirst) && (
        <QueueForm
          onMade={() => {
            setMaking(false);
            answer.again();
          }}
          onCancel={isFirst ? null : () => setMaking(false)}
        />
      )}
      <ul className="labels-list">
        {answer.value.map((queue) => (
          <QueueCard key={queue.name} queue={queue} />
        ))}
      </ul>
    </>
  );
}
