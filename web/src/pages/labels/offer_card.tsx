import { useState } from "react";
import { takeTask } from "../../api/labels";
import type { QueueOffer } from "../../api/schema";
import { go } from "../../parts/router";
import { useShortcuts } from "../../parts/shortcuts";
import { plural } from "./wording";

interface Props {
  offer: QueueOffer;
  isFirst: boolean;
  again: () => void;
}

/** A queue with tasks to take; Enter takes the next one of the first queue. */
export function OfferCard({ offer, isFirst, again }: Props) {
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const take = () => {
    setBusy(true);
    takeTask(offer.queue).then(
      (task) => {
        if (task) go(`/annotate/${encodeURIComponent(task.id)}`);
        else {
          setError("Somebody was quicker: nothing is left in this queue.");
          setBusy(false);
          again();
        }
      },
      (reason: Error) => {
        setError(reason.message);
        setBusy(false);
      },
    );
  };
  useShortcuts(
    "My work",
    [{ keys: ["Enter", "n"], does: "Take the next task", run: take }],
    isFirst && offer.may_take && !isBusy,
  );
  const isTest = offer.kind === "qualify";
  return (
    <li className="card offer">
      <div>
        <h2>{offer.queue}</h2>
        <p className="muted">
          {isTest ? "Shows that you apply the rules as we do; take it before real work. " : ""}
          {plural(offer.open, "task")} left{offer.mine > 0 && `, ${offer.mine} begun by you`} ·
          rules: {offer.taxonomy}
        </p>
      </div>
      {offer.may_take ? (
        <button type="button" className="primary" onClick={take} disabled={isBusy}>
          {offer.mine > 0 ? "Go on" : isTest ? "Begin the test" : "Next task"}{" "}
          {isFirst && <kbd aria-hidden>n</kbd>}
        </button>
      ) : (
        <span className="muted">{offer.why_not}</span>
      )}
      {error && (
        <p className="labels-error" role="alert">
          {error}
        </p>
      )}
    </li>
  );
}
