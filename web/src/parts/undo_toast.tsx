import { useEffect, useState } from "react";
import { announceMark, type Marked, undoMark, watchMarks } from "../api/marks";
import { useShortcuts } from "./shortcuts";
import "./undo_toast.css";

const SHOWN_MS = 10_000;

/** What was just done to episodes, and ten seconds to take it back, on whatever page one is. */
export function UndoToast() {
  const [made, setMade] = useState<Marked | null>(null);
  const [said, setSaid] = useState<string | null>(null);
  useEffect(
    () =>
      watchMarks((marked) => {
        if (!marked) return;
        setMade(marked);
        setSaid(null);
      }),
    [],
  );
  useEffect(() => {
    if (!made) return;
    const timer = setTimeout(() => setMade(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [made]);
  useEffect(() => {
    if (!said) return;
    const timer = setTimeout(() => setSaid(null), SHOWN_MS / 2);
    return () => clearTimeout(timer);
  }, [said]);
  const undo = () => {
    if (!made) return;
    setMade(null);
    undoMark(made.key).then(
      ({ kept }) => {
        const left = Object.keys(kept).length;
        setSaid(left ? `Taken back; ${left} had been changed since and stay.` : "Taken back.");
        announceMark(null);
      },
      (error: Error) => setSaid(error.message),
    );
  };
  useShortcuts("Everywhere", [{ keys: ["Ctrl+z"], does: "Undo", run: undo }], made !== null);
  if (!made && !said) return null;
  return (
    <div className="undo-toast" role="status">
      <span>{made ? made.words : said}</span>
      {made && (
        <button type="button" onClick={undo}>
          Undo <kbd aria-hidden>Ctrl Z</kbd>
        </button>
      )}
    </div>
  );
}
