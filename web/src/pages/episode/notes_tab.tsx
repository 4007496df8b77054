import { settleNote } from "../../api/notes";
import type { EpisodeDetail, EpisodeNote } from "../../api/schema";
import { useMay } from "../../api/session";
import { type Clock, clockText } from "../../player/clock";
import { momentTitle } from "../../player/moment";
import "./notes_tab.css";

/** What people wrote of an episode; a moment leads there. */
export function NotesTab({
  episode,
  clock,
  notes,
  onChange,
}: {
  episode: EpisodeDetail;
  clock: Clock;
  notes: EpisodeNote[];
  onChange: () => void;
}) {
  const mayNote = useMay("annotate");
  if (!notes.length) {
    return (
      <p className="muted notes-none">
        No notes.{" "}
        {mayNote && (
          <>
            <kbd>m</kbd> pins one to the moment you see.
          </>
        )}
      </p>
    );
  }
  const to = (timeNs: number) => {
    clock.pause();
    clock.seek(timeNs);
  };
  return (
    <ul className="notes">
      {notes.map((note) => (
        <li key={note.number} className={note.resolved ? "notes-settled" : undefined}>
          <p>{note.text}</p>
          <span className="muted">
            {note.time_ns !== null && (
              <button
                type="button"
                className="quiet num"
                title={momentTitle(episode, clock, note.time_ns)}
                onClick={() => to(note.time_ns ?? 0)}
              >
                {clockText(note.time_ns)}
              </button>
            )}{" "}
            {note.who}{" "}
            {note.at && <time dateTime={note.at}>{note.at.slice(0, 16).replace("T", " ")}</time>}
          </span>
          {mayNote && !note.resolved && (
            <button
              type="button"
              className="quiet"
              onClick={() => void settleNote(episode.id, note.number).then(onChange, onChange)}
            >
              Settle
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}
