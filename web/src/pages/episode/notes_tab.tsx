import { settleNote } from "../../api/notes";
import type { EpisodeDetail, EpisodeNote } from "../../api/schema";
import { useMay } from "../../api/session";
import type { Clock } from "../../player/clock";
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
              <button type="button" className="quiet num" onClick={() => to(note.time_ns ?? 0)}>
                {(note.time_ns / 1e9).toFixed(3)} s
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
