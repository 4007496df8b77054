import { type FormEvent, useState } from "react";
import { Dialog } from "../../parts/dialog";

/** Why something is given back: the annotator reads exactly these words. */
export function ReturnDialog({
  onClose,
  onReturn,
}: {
  onClose: () => void;
  onReturn: (why: string) => void;
}) {
  const [why, setWhy] = useState("");
  const send = (event: FormEvent) => {
    event.preventDefault();
    onClose();
    onReturn(why.trim());
  };
  return (
    <Dialog title="Return it" onClose={onClose}>
      <form className="return-form" onSubmit={send}>
        <label>
          What is to be changed
          <textarea
            required
            autoFocus
            maxLength={2000}
            value={why}
            onChange={(event) => setWhy(event.target.value)}
            placeholder="Grasp begins when the fingers bear load, at 4.133 s I think. Please look at the force below the picture."
          />
        </label>
        <p className="muted">
          The person reads these words. Name the moment and the rule, and it will not come back
          wrong twice.
        </p>
        <div>
          <button type="submit" className="primary" disabled={!why.trim()}>
            Return it
          </button>
        </div>
      </form>
    </Dialog>
  );
}
