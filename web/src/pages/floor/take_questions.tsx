import { useState } from "react";
import type { TakeMark } from "../../api/takes";
import { useShortcuts } from "../../parts/shortcuts";
import type { FloorHealth, Take } from "./floor_state";

/** What only the operator can tell of the take: why it failed, and what the protocol asks. */
export function TakeQuestions({
  floor,
  take,
  mayDrive,
  send,
}: {
  floor: FloorHealth;
  take: Take | null;
  mayDrive: boolean;
  send: (mark: TakeMark) => Promise<void>;
}) {
  const [answers, setAnswers] = useState<{ take: string; given: Record<string, boolean> }>({
    take: "",
    given: {},
  });
  const given = take && answers.take === take.name ? answers.given : {};
  const isAsked = take !== null && mayDrive;
  const next = isAsked ? floor.questions.find((question) => !(question in given)) : undefined;
  const say = (question: string, answer: boolean) => {
    setAnswers({ take: take?.name ?? "", given: { ...given, [question]: answer } });
    void send({ mark: "answer", question, answer });
  };
  useShortcuts(
    "Floor",
    [true, false].map((answer) => ({
      keys: [answer ? "y" : "n"],
      does: `Answer the next question with ${answer ? "yes" : "no"}`,
      run: (event) => next && !event.repeat && say(next, answer),
    })),
    next !== undefined,
  );
  if (!isAsked) return null;
  const asksWhy = take.outcome !== null && take.outcome !== "success" && !take.is_discarded;
  return (
    <>
      {asksWhy && (
        <fieldset className="station-question">
          <legend>Why did it fail?</legend>
          {floor.failures.map((failure) => (
            <button
              key={failure}
              type="button"
              aria-pressed={take.outcome === failure}
              onClick={() => void send({ mark: "outcome", success: false, failure })}
            >
              {failure.replaceAll("_", " ")}
            </button>
          ))}
        </fieldset>
      )}
      {floor.questions.map((question) => (
        <fieldset key={question} className="station-question">
          <legend>{question}</legend>
          {[true, false].map((answer) => (
            <button
              key={String(answer)}
              type="button"
              aria-pressed={given[question] === answer}
              onClick={() => say(question, answer)}
            >
              {answer ? "Yes" : "No"} {question === next && <kbd>{answer ? "Y" : "N"}</kbd>}
            </button>
          ))}
        </fieldset>
      ))}
    </>
  );
}
