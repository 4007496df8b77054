import { useEffect, useState } from "react";
import type { Predicted } from "../../api/annotation";
import type { Correction } from "../../api/schema";
import { clockText } from "../../player/clock";
import { showMoment } from "./play_around";
import { type Prediction, predictionsOf, readValue, valueText } from "./predictions";
import type { Bench } from "./use_bench";
import { newId } from "./workbook";

const usual: Record<Correction["kind"], string[]> = {
  grasp: ["grasp_type", "hand", "object", "width_m", "position_m", "quaternion"],
  action: ["phase", "target", "position_m"],
};

/** What a policy predicted at a moment, and what it should have. */
export function Corrections({ bench }: { bench: Bench }) {
  const { content, task, clock, line, canEdit } = bench;
  const open = predictionsOf(task.settings).filter(
    (each) =>
      !content.corrections.some((made) => made.time_ns === each.time_ns && made.kind === each.kind),
  );
  const put = (prediction: Prediction) => {
    const correction: Correction = {
      id: newId(),
      ...prediction,
      corrected: prediction.predicted,
      note: "",
    };
    bench.do("correct", [{ put: correction }]);
    showMoment(clock, prediction.time_ns);
  };
  const begin = (kind: Correction["kind"]) =>
    put({
      time_ns: line.timeOf(line.frameOf(clock.timeNs)),
      kind,
      predicted: Object.fromEntries(usual[kind].map((name) => [name, null])),
    });
  return (
    <section className="side-part" aria-label="Corrections">
      {open.map((each) => (
        <p key={`${each.kind} ${each.time_ns}`} className="correction-open">
          <button
            type="button"
            className="quiet num"
            onClick={() => showMoment(clock, each.time_ns)}
          >
            {clockText(each.time_ns)}
          </button>
          predicted {each.kind}
          <button type="button" disabled={!canEdit} onClick={() => put(each)}>
            Correct
          </button>
        </p>
      ))}
      {!open.length && !content.corrections.length && (
        <p className="muted side-hint">
          Where a policy predicted a grasp or an action, say here what it should have been.
        </p>
      )}
      {content.corrections.map((each) => (
        <CorrectionForm key={each.id} bench={bench} correction={each} />
      ))}
      {canEdit && (
        <div className="outcome-buttons">
          <button type="button" onClick={() => begin("grasp")}>
            Grasp at this picture
          </button>
          <button type="button" onClick={() => begin("action")}>
            Action at this picture
          </button>
        </div>
      )}
    </section>
  );
}

function CorrectionForm({ bench, correction }: { bench: Bench; correction: Correction }) {
  const [name, setName] = useState("");
  const set = (side: "predicted" | "corrected", field: string, text: string) => {
    const values: Predicted = { ...correction[side], [field]: readValue(text) };
    bench.do("correct", [{ put: { ...correction, [side]: values } }]);
  };
  const names = [
    ...new Set([...Object.keys(correction.predicted), ...Object.keys(correction.corrected)]),
  ];
  return (
    <fieldset className="correction" disabled={!bench.canEdit}>
      <legend>
        {correction.kind}{" "}
        <button
          type="button"
          className="quiet num"
          onClick={() => showMoment(bench.clock, correction.time_ns)}
        >
          {clockText(correction.time_ns)} · frame {bench.line.frameOf(correction.time_ns)}
        </button>
        <button
          type="button"
          className="quiet"
          aria-label="Take this correction away"
          onClick={() => bench.do("remove", [{ drop: correction.id }])}
        >
          ×
        </button>
      </legend>
      <span className="correction-head muted">what</span>
      <span className="correction-head muted">predicted</span>
      <span className="correction-head muted">corrected</span>
      {names.map((field) => (
        <CorrectionRow key={field} field={field} correction={correction} onSet={set} />
      ))}
      <input
        aria-label="Another value"
        placeholder="another…"
        value={name}
        maxLength={60}
        onChange={(event) => setName(event.target.value)}
        onBlur={() => {
          if (name.trim()) set("corrected", name.trim(), "");
          setName("");
        }}
      />
      <Field
        label="note"
        value={correction.note}
        wide
        onSet={(note) => bench.do("correct", [{ put: { ...correction, note } }])}
      />
    </fieldset>
  );
}

interface CorrectionRowProps {
  field: string;
  correction: Correction;
  onSet: (side: "predicted" | "corrected", field: string, text: string) => void;
}

function CorrectionRow({ field, correction, onSet }: CorrectionRowProps) {
  const [predicted, corrected] = [
    valueText(correction.predicted[field]),
    valueText(correction.corrected[field]),
  ];
  return (
    <div className="correction-row" data-changed={predicted !== corrected}>
      <span>{field}</span>
      <Field
        label={`${field}, predicted`}
        value={predicted}
        onSet={(text) => onSet("predicted", field, text)}
      />
      <Field
        label={`${field}, corrected`}
        value={corrected}
        onSet={(text) => onSet("corrected", field, text)}
      />
    </div>
  );
}

function Field({
  label,
  value,
  wide = false,
  onSet,
}: {
  label: string;
  value: string;
  wide?: boolean;
  onSet: (text: string) => void;
}) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  return (
    <input
      className={wide ? "correction-note" : undefined}
      aria-label={label}
      placeholder={wide ? label : undefined}
      value={text}
      maxLength={500}
      onChange={(event) => setText(event.target.value)}
      onBlur={() => text !== value && onSet(text)}
    />
  );
}
