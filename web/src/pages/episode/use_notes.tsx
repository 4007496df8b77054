import { type ReactNode, useMemo, useState } from "react";
import { getNotes, noteLanes, writeNote } from "../../api/notes";
import type { EpisodeDetail, EpisodeNote } from "../../api/schema";
import { useMay } from "../../api/session";
import { useAnswer } from "../../api/use_answer";
import { NoteDialog } from "../../parts/mark_dialogs";
import { useShortcuts } from "../../parts/shortcuts";
import type { Clock } from "../../player/clock";

interface Notes {
  notes: EpisodeNote[];
  again: () => void;
  /** The episode with its notes as a lane of the timeline. */
  noted: EpisodeDetail;
  dialog: ReactNode;
}

/** Notes on an episode; `m` pins one to the moment of the clock. */
export function useNotes(episode: EpisodeDetail, clock: Clock): Notes {
  const answer = useAnswer((signal) => getNotes(episode.id, signal), [episode.id]);
  const [at, setAt] = useState<number | null>(null);
  const [error, setError] = useState("");
  const mayNote = useMay("annotate");
  const pin = () => {
    clock.pause();
    setAt(clock.timeNs);
  };
  useShortcuts("Episode", [{ keys: ["m"], does: "Pin a note to this moment", run: pin }], mayNote);
  const notes = useMemo(() => answer.value ?? [], [answer.value]);
  const noted = useMemo(
    () => ({ ...episode, lanes: [...noteLanes(notes), ...episode.lanes] }),
    [episode, notes],
  );
  const save = (text: string) => {
    writeNote(episode.id, text, at).then(
      () => {
        setAt(null);
        setError("");
        answer.again();
      },
      (reason: Error) => setError(reason.message),
    );
  };
  const dialog = at !== null && (
    <NoteDialog
      at={`${(at / 1e9).toFixed(3)} s`}
      error={error}
      onNote={save}
      onClose={() => setAt(null)}
    />
  );
  return { notes, again: answer.again, noted, dialog };
}
