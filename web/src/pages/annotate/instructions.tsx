import { useState } from "react";
import type { Instruction } from "../../api/schema";
import { keepDraft, keptDraft, useDraft } from "./text_draft";
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
          title="Take it away"
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
  const { task } = bench;
  const [text, setText] = useState(() => keptDraft(task.id, newOne) ?? "");
  const add = () => {
    const said = text.trim();
    if (
      said &&
      bench.do("type", [{ put: { id: newId(), text: said, language: "en", source: "person" } }])
    ) {
      setText("");
      keepDraft(task.id, newOne, null);
    }
  };
  return (
    <textarea
      id="bench-new-instruction"
      aria-label="New instruction"
      placeholder="Say what was done in other words; Enter adds it"
      rows={2}
      maxLength={2000}
      value={text}
      onChange={(event) => {
        setText(event.target.value);
        keepDraft(task.id, newOne, event.target.value || null);
      }}
      onBlur={add}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || event.shiftKey) return;
        event.preventDefault();
        add();
      }}
    />
  );
}
