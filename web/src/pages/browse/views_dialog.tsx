import { type FormEvent, useState } from "react";
import { deleteView, getViews, saveView } from "../../api/episodes";
import type { SavedView, ViewLook } from "../../api/schema";
import { useMay, useSession } from "../../api/session";
import { useAnswer } from "../../api/use_answer";
import { Dialog } from "../../parts/dialog";
import { Notice, Waiting } from "../../parts/notice";
import "./views_dialog.css";

interface Props {
  query: string;
  look: ViewLook;
  onOpen: (view: SavedView) => void;
  onClose: () => void;
}

/** Queries under a name: your own, and those that others share. */
export function ViewsDialog({ query, look, onOpen, onClose }: Props) {
  const views = useAnswer((signal) => getViews("episodes", signal), []);
  const [error, setError] = useState<Error | null>(null);
  const session = useSession();
  const change = async (doing: Promise<unknown>) => {
    try {
      await doing;
      setError(null);
      views.again();
    } catch (reason) {
      setError(reason instanceof Error ? reason : new Error(String(reason)));
    }
  };
  return (
    <Dialog title="Saved views" onClose={onClose}>
      {views.error && <Notice error={views.error} again={views.again} />}
      {!views.value && !views.error && <Waiting />}
      {views.value?.length === 0 && (
        <p className="muted">None yet. Save the list as it is now, below.</p>
      )}
      <ul className="views-dialog">
        {views.value?.map((view) => (
          <li key={view.number}>
            <button type="button" className="quiet views-dialog-open" onClick={() => onOpen(view)}>
              <b>{view.name}</b>
              <code>{view.query || "all episodes"}</code>
            </button>
            <span className="muted">
              {view.shared ? `shared by ${view.mine ? "you" : view.owner}` : "yours"}
            </span>
            {view.mine && !session.read_only && (
              <button
                type="button"
                className="quiet"
                aria-label={`Delete the view ${view.name}`}
                onClick={() => void change(deleteView(view.number))}
              >
                Delete
              </button>
            )}
          </li>
        ))}
      </ul>
      {error && <Notice error={error} />}
      {!session.read_only && !session.guest && (
        <SaveForm
          query={query}
          onSave={(name, shared) => void change(saveView({ name, query, shared, look }))}
        />
      )}
    </Dialog>
  );
}

function SaveForm({
  query,
  onSave,
}: {
  query: string;
  onSave: (name: string, shared: boolean) => void;
}) {
  const [name, setName] = useState("");
  const [shared, setShared] = useState(false);
  const mayShare = useMay("ingest");
  const save = (event: FormEvent) => {
    event.preventDefault();
    onSave(name, shared);
    setName("");
  };
  return (
    <form className="views-dialog-save" onSubmit={save}>
      <h3>
        Save what you see: <code>{query || "all episodes"}</code>
      </h3>
      <label>
        Name{" "}
        <input
          required
          maxLength={80}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      {mayShare && (
        <label>
          <input
            type="checkbox"
            checked={shared}
            onChange={(event) => setShared(event.target.checked)}
          />{" "}
          Everyone sees it
        </label>
      )}
      <button type="submit" className="primary">
        Save
      </button>
    </form>
  );
}
