import { useState } from "react";
import { assignTask, getPeople } from "../../api/labels";
import type { ListedTask } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";

/** Who has a task; a lead may give it to somebody else. */
export function AssignChoice({ task, again }: { task: ListedTask; again: () => void }) {
  const people = useAnswer(getPeople, []);
  const [error, setError] = useState<string | null>(null);
  const names = [
    ...new Set([
      ...(task.assigned_to ? [task.assigned_to] : []),
      ...(people.value ?? []).map((each) => each.name),
    ]),
  ];
  const give = (to: string) => {
    assignTask(task.id, to || null).then(again, (reason: Error) => setError(reason.message));
  };
  return (
    <>
      <select
        aria-label={`Who has ${task.episode}`}
        value={task.assigned_to ?? ""}
        onChange={(event) => give(event.target.value)}
      >
        <option value="">whoever comes next</option>
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      {error && (
        <p className="labels-error" role="alert">
          {error}
        </p>
      )}
    </>
  );
}
