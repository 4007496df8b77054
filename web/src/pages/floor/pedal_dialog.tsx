import { useEffect } from "react";
import { Dialog } from "../../parts/dialog";

const taken = ["s", "f", "d", "p", "r", "?", "escape", "tab"];

/** A foot pedal is a keyboard with one key: whatever it types is remembered. */
export function PedalDialog({
  pedal,
  onPedal,
  onClose,
}: {
  pedal: string;
  onPedal: (key: string) => void;
  onClose: () => void;
}) {
  useEffect(() => {
    const hear = (event: KeyboardEvent) => {
      const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
      if (taken.includes(key.toLowerCase())) return;
      event.preventDefault();
      onPedal(key === " " ? "" : key);
      onClose();
    };
    window.addEventListener("keydown", hear, { capture: true });
    return () => window.removeEventListener("keydown", hear, { capture: true });
  }, [onPedal, onClose]);
  return (
    <Dialog title="Foot pedal" onClose={onClose}>
      <p>
        Press the pedal now. Whatever key it types starts and stops a take from then on, beside
        Space. {pedal ? `At present: ${pedal}.` : ""}
      </p>
      <p className="muted">Space, S, F, D, P and R keep what they do. Escape leaves it as it is.</p>
    </Dialog>
  );
}
