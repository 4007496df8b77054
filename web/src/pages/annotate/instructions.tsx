import { useEffect, useState } from "react";
import type { Instruction } from "../../api/schema";
import { keepNewDraft, keptNewDraft, type NewDraft, useDraft } from "./text_draft";
import type { Bench } from "./use_bench";
import { varietySentence } from "./wording_variety";
import { newId } from "./workbook";

const newOne = "new-instruction";

/** Wordings of what was done, and how much they differ. */
export function Instructions({ bench }: { bench: Bench }) {
  const { content, taxonomy, episode } = bench;
  const needed =
    (
      taxonomy.requirements.find((each) => each.task === episode.row.task) ??
      taxonomy.requirements.find((each) => each.task === "*")
    )?.instructions ?? 0;
  const { text, isLow } = varietySentence(content.instructions.map((each) => each.text));
  return (
    <section className="side-part" aria-label="Instructions">
      <h3>
        Instructions{" "}
        <span className="muted num">
          {content.instructions.length}
          {needed > 1 ? ` of ${needed}` : ""}
        </span>
      </h3>
      <ol className="instructions">
        {content.instructions.map((each, place) => (
          <InstructionLine key={each.id} bench={bench} instruction={each} number={place + 1} />
        ))}
      </ol>
      {bench.canEdit && <NewInstruction bench={bench} />}
      {content.instructions.length > 0 && (
        <p className={`side-hint ${isLow ? "instructions-low" : "muted"}`} role="status">
          {text}
        </p>
      )}
    </section>
  );
}

function InstructionLine({
  bench,
  instruction,
  number,
}: {
  bench: Bench;
  instruction: Instruction;
  number: number;
}) {
  const save = (text: string) => {
    if (text.trim())
      bench.do("type", [{ put: { ...instruction, text: text.trim(), source: "person" } }]);
  };
  const { text, write, commit } = useDraft(bench.task.id, instruction.id, instruction.text, save);
  return (
    <li className="instruction">
      <span className="muted num">{number}</span>
      <textarea
        aria-label={`Instruction ${number}`}
        rows={2}
        maxLength={2000}
        value={text}
        disabled={!bench.canEdit}
        onChange={(event) => write(event.target.value)}
        onBlur={commit}
      />
      {bench.canEdit && (
        <button
          type="button"
          className="quiet"
          aria-label={`Take instruction ${number} away`}
          title="Delete"
          onClick={() => bench.do("remove", [{ drop: instruction.id }])}
        >
          ×
        </button>
      )}
      {instruction.source !== "person" && (
        <span className="chip instruction-source">{instruction.source}</span>
      )}
    </li>
  );
}

/** The next wording; what is written stays in the browser until it is added. */
function NewInstruction({ bench }: { bench: Bench }) {
  const { task, content } = bench;
  const [draft, setDraft] = useState(() => keptNewDraft(task.id, newOne) ?? blank());
  const write = (next: NewDraft) => {
    setDraft(next);
    keepNewDraft(task.id, newOne, next);
  };
  const isAdded = content.instructions.some((each) => each.id === draft.id);
  // biome-ignore lint/correctness/useExhaustiveDependencies: when it turns out to be there already
  useEffect(() => {
    if (isAdded) write(blank());
  }, [isAdded]);
  const add = () => {
    const text = draft.text.trim();
    if (
      text &&
      !isAdded &&
      bench.do("type", [{ put: { id: draft.id, text, language: "en", source: "person" } }])
    )
      write(blank());
  };
  return (
    <textarea
      id="bench-new-instruction"
      aria-label="New instruction"
      placeholder="Say what was done in other words; Enter adds it"
      rows={2}
      maxLength={2000}
      value={draft.text}
      onChange={(event) => write({ ...draft, text: event.target.value })}
      onBlur={add}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || event.shiftKey) return;
        event.preventDefault();
        add();
      }}
    />
  );
}

function blank(): NewDraft {
  return { id: newId(), text: "" };
}
