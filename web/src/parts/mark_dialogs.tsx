import { type FormEvent, type KeyboardEvent, type ReactNode, useState } from "react";
import { getTags } from "../api/marks";
import { useAnswer } from "../api/use_answer";
import { Dialog } from "./dialog";

const reasons = ["camera", "sync", "wrong label", "privacy", "task not done", "fall"];

/** Why episodes are not accepted: a usual reason, and words of one's own. */
export function ReasonDialog({
  verdict,
  onReason,
  onClose,
}: {
  verdict: "quarantined" | "failed";
  onReason: (verdict: "quarantined" | "failed", reason: string) => void;
  onClose: () => void;
}) {
  const [reason, setReason] = useState("");
  const title = verdict === "failed" ? "Why are they rejected?" : "Why are they quarantined?";
  return (
    <Form
      title={title}
      does={verdict === "failed" ? "Reject" : "Quarantine"}
      onClose={onClose}
      isReady={reason.trim() !== ""}
      onSend={() => onReason(verdict, reason.trim())}
    >
      <label>
        Reason
        <input value={reason} maxLength={500} onChange={(event) => setReason(event.target.value)} />
      </label>
      <span className="mark-tags">
        {reasons.map((each) => (
          <button key={each} type="button" className="chip" onClick={() => setReason(each)}>
            {each}
          </button>
        ))}
      </span>
    </Form>
  );
}

/** Tags to put on, several behind commas, and tags to take off. */
export function TagDialog({
  tags,
  onTags,
  onClose,
}: {
  tags: string[];
  onTags: (added: string[], removed: string[]) => void;
  onClose: () => void;
}) {
  const known = useAnswer(getTags, []);
  const [text, setText] = useState("");
  const [removed, setRemoved] = useState<string[]>([]);
  const added = text
    .split(",")
    .map((tag) => tag.trim())
    .filter(Boolean);
  const others = (known.value ?? []).filter(({ tag }) => !tags.includes(tag)).slice(0, 12);
  const toggle = (tag: string) =>
    setRemoved(removed.includes(tag) ? removed.filter((each) => each !== tag) : [...removed, tag]);
  return (
    <Form
      title="Tags"
      does="Save"
      onClose={onClose}
      isReady={added.length + removed.length > 0}
      onSend={() => onTags(added, removed)}
    >
      {tags.length > 0 && (
        <span className="mark-tags">
          {tags.map((tag) => (
            <button
              key={tag}
              type="button"
              className="chip"
              aria-pressed={removed.includes(tag)}
              title="Take this tag off"
              onClick={() => toggle(tag)}
            >
              {removed.includes(tag) ? <s>{tag}</s> : tag} ×
            </button>
          ))}
        </span>
      )}
      <label>
        New tags, with commas between
        <input value={text} maxLength={400} onChange={(event) => setText(event.target.value)} />
      </label>
      {others.length > 0 && (
        <span className="mark-tags">
          {others.map(({ tag, count }) => (
            <button
              key={tag}
              type="button"
              className="chip"
              onClick={() => setText([...added.filter((each) => each !== tag), tag].join(", "))}
            >
              {tag} <span className="num muted">{count}</span>
            </button>
          ))}
        </span>
      )}
    </Form>
  );
}

/** A note for everybody who opens the episodes; `at` says of which moment. */
export function NoteDialog({
  at,
  error,
  onNote,
  onClose,
}: {
  at?: string;
  error?: string;
  onNote: (note: string) => void;
  onClose: () => void;
}) {
  const [note, setNote] = useState("");
  return (
    <Form
      title={at ? `Note at ${at}` : "Note"}
      does="Save"
      onClose={onClose}
      isReady={note.trim() !== ""}
      onSend={() => onNote(note.trim())}
    >
      <label>
        Note
        <textarea
          rows={3}
          value={note}
          maxLength={4000}
          onChange={(event) => setNote(event.target.value)}
        />
      </label>
      {error && (
        <span className="mark-error" role="alert">
          {error}
        </span>
      )}
    </Form>
  );
}

function Form({
  title,
  does,
  isReady,
  onSend,
  onClose,
  children,
}: {
  title: string;
  does: string;
  isReady: boolean;
  onSend: () => void;
  onClose: () => void;
  children: ReactNode;
}) {
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (isReady) onSend();
  };
  const onKeyDown = (event: KeyboardEvent<HTMLFormElement>) => {
    // Keys of the page below must not work through the dialog.
    event.stopPropagation();
    const isText = event.target instanceof HTMLTextAreaElement;
    if (event.key === "Enter" && isText && !event.shiftKey) {
      event.preventDefault();
      if (isReady) onSend();
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="mark-form" onSubmit={send} onKeyDown={onKeyDown}>
        {children}
        <span className="mark-buttons">
          <button type="submit" className="primary" disabled={!isReady}>
            {does} <kbd aria-hidden>Enter</kbd>
          </button>
          <button type="button" onClick={onClose}>
            Cancel <kbd aria-hidden>Esc</kbd>
          </button>
        </span>
      </form>
    </Dialog>
  );
}
