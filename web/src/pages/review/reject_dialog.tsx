import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Dialog } from "../../parts/dialog";
import { keepDraft, readDraft } from "./reason_draft";
import "./reject_dialog.css";

export interface RejectDialogProps {
  review: string;
  episode: string;
  reasons: string[];
  onClose: () => void;
  onReject: (reason: string, text: string) => void;
}

const means: Record<string, string> = {
  fall: "The robot fell or was caught",
  "task not done": "It did not do what the instruction says",
  "wrong label": "Instruction, task or outcome is not what one sees",
  camera: "A picture is dark, covered, frozen or missing",
  sync: "Pictures and motion are not at the same time",
  privacy: "A person or a document is seen that must not be",
  other: "Say it in words",
};

/** Why it is rejected: a digit chooses, Enter confirms, words may be added. */
export function RejectDialog({ review, episode, reasons, onClose, onReject }: RejectDialogProps) {
  const [draft, setDraft] = useState(() => readDraft(review, episode));
  const first = useRef<HTMLDivElement>(null);
  const words = useRef<HTMLTextAreaElement>(null);
  const isReady = draft.reason !== "" && (draft.reason !== "other" || draft.text.trim() !== "");
  useEffect(() => {
    // After the dialog has opened, which is when it takes the focus itself.
    queueMicrotask(() => first.current?.focus());
  }, []);
  const change = (next: Partial<typeof draft>) => {
    const whole = { ...draft, ...next };
    setDraft(whole);
    keepDraft(review, episode, whole);
    if (next.reason === "other") words.current?.focus();
  };
  const send = (event?: FormEvent) => {
    event?.preventDefault();
    if (isReady) onReject(draft.reason, draft.text.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Keys of the page below must not work through the dialog.
    event.stopPropagation();
    const isWriting = event.target === words.current;
    if (event.key === "Enter" && !event.shiftKey && !(event.target instanceof HTMLButtonElement)) {
      event.preventDefault();
      send();
    } else if (!isWriting && /^[1-9]$/.test(event.key)) {
      const reason = reasons[Number(event.key) - 1];
      if (!reason) return;
      event.preventDefault();
      change({ reason });
    }
  };
  return (
    <Dialog title="Why is this episode rejected?" onClose={onClose}>
      <form className="reject" onSubmit={send} onKeyDown={onKeyDown}>
        <div
          role="radiogroup"
          aria-label="Reason"
          className="reject-reasons"
          ref={first}
          tabIndex={-1}
        >
          {reasons.map((reason, place) => (
            <label
              key={reason}
              className={`reject-reason${draft.reason === reason ? " reject-chosen" : ""}`}
            >
              <input
                type="radio"
                name="reason"
                value={reason}
                checked={draft.reason === reason}
                onChange={() => change({ reason })}
              />
              <kbd aria-hidden>{place + 1}</kbd>
              <b>{reason}</b>
              <span className="muted">{means[reason]}</span>
            </label>
          ))}
        </div>
        <label className="reject-words">
          In words {draft.reason === "other" ? "" : "(if there is more to say)"}
          <textarea
            ref={words}
            rows={2}
            maxLength={500}
            value={draft.text}
            onChange={(event) => change({ text: event.target.value })}
          />
        </label>
        <p className="muted">
          Its neighbours in time will come next: what spoiled one may have spoiled them.
        </p>
        <div className="reject-buttons">
          <button type="submit" className="reject-send" disabled={!isReady}>
            Reject <kbd aria-hidden>Enter</kbd>
          </button>
          <button type="button" onClick={onClose}>
            Cancel <kbd aria-hidden>Esc</kbd>
          </button>
        </div>
      </form>
    </Dialog>
  );
}
