import { type FormEvent, useState } from "react";
import { deleteView, getViews, saveView } from "../../api/episodes";
import type { SavedView } from "../../api/schema";
import { useMay, useSession } from "../../api/session";
import { useAnswer } from "../../api/use_answer";
import { Dialog } from "../../parts/dialog";
import { Notice } from "../../parts/notice";
import {
  added,
  cameraSize,
  type Layout,
  layoutText,
  type PanelName,
  panelNames,
  panelsIn,
  presets,
  readLayout,
  usualLayout,
  without,
} from "./layout";
import "./layout_menu.css";

export interface LayoutMenuProps {
  layout: Layout;
  onLayout: (layout: Layout) => void;
  titles: Record<PanelName, string>;
  isArranging: boolean;
  onArrange: (is: boolean) => void;
  onClose: () => void;
}

/** What stands on the page, how large, and layouts under a name: ready ones, own ones, the team's. */
export function LayoutMenu(props: LayoutMenuProps) {
  const { layout, onLayout, titles, isArranging, onArrange, onClose } = props;
  const shown = panelsIn(layout);
  const size = cameraSize(layout);
  const toggle = (name: PanelName) => {
    const next = shown.includes(name) ? without(layout, [name]) : added(layout, name);
    if (next) onLayout(next);
  };
  return (
    <Dialog title="Layout" onClose={onClose}>
      <div className="layout-menu">
        <fieldset>
          <legend>Presets</legend>
          {Object.entries(presets).map(([name, preset]) => (
            <button
              key={name}
              type="button"
              title={preset.words}
              aria-pressed={layoutText(layout) === layoutText(preset.layout)}
              onClick={() => onLayout(preset.layout)}
            >
              {name}
            </button>
          ))}
          <button type="button" className="quiet" onClick={() => onLayout(usualLayout)}>
            Reset to default
          </button>
        </fieldset>
        <fieldset>
          <legend>Panels</legend>
          {panelNames.map((name) => (
            <label key={name}>
              <input
                type="checkbox"
                checked={shown.includes(name)}
                disabled={shown.length === 1 && shown.includes(name)}
                onChange={() => toggle(name)}
              />{" "}
              {titles[name]}
            </label>
          ))}
          <label>
            <input
              type="checkbox"
              checked={isArranging}
              onChange={(event) => onArrange(event.target.checked)}
            />{" "}
            Show handles to move them
          </label>
        </fieldset>
        {size && (
          <label className="layout-menu-size">
            Size of the pictures
            <input
              type="range"
              min={8}
              max={92}
              value={Math.round(size.share * 100)}
              onChange={(event) => onLayout(size.set(Number(event.target.value) / 100))}
            />
            <output className="num">{Math.round(size.share * 100)} %</output>
          </label>
        )}
        <SavedLayouts layout={layout} onLayout={onLayout} />
      </div>
    </Dialog>
  );
}

function SavedLayouts({
  layout,
  onLayout,
}: {
  layout: Layout;
  onLayout: (layout: Layout) => void;
}) {
  const session = useSession();
  const views = useAnswer((signal) => getViews("episode", signal), []);
  const [error, setError] = useState<Error | null>(null);
  const change = (doing: Promise<unknown>) =>
    doing
      .then(() => {
        setError(null);
        views.again();
      })
      .catch((reason) => setError(reason instanceof Error ? reason : new Error(String(reason))));
  const all = views.value ?? [];
  const mine = all.filter(({ mine: own, shared }) => own && !shared);
  return (
    <fieldset>
      <legend>Saved</legend>
      {(
        [
          ["Mine", mine],
          ["Team", all.filter(({ shared }) => shared)],
        ] as const
      ).map(([title, list]) => (
        <SavedList
          key={title}
          title={title}
          views={list}
          onOpen={onLayout}
          onDelete={session.read_only ? null : (number) => void change(deleteView(number))}
        />
      ))}
      {views.error && <Notice error={views.error} again={views.again} />}
      {error && <Notice error={error} />}
      {!session.read_only && !session.guest && (
        <SaveForm
          onSave={(name, shared) =>
            void change(
              saveView({
                name,
                query: "",
                shared,
                look: {
                  page: "episode",
                  order: "-recorded",
                  layout: "table",
                  columns: null,
                  panels: layoutText(layout),
                },
              }),
            )
          }
        />
      )}
    </fieldset>
  );
}

function SavedList({
  title,
  views,
  onOpen,
  onDelete,
}: {
  title: string;
  views: SavedView[];
  onOpen: (layout: Layout) => void;
  onDelete: ((number: number) => void) | null;
}) {
  return (
    <div className="layout-menu-saved">
      <h3>{title}</h3>
      {!views.length && <span className="muted">none</span>}
      {views.map((view) => (
        <span key={view.number}>
          <button
            type="button"
            title={view.mine ? "" : `of ${view.owner}`}
            onClick={() => {
              const found = readLayout(view.look.panels);
              if (found) onOpen(found);
            }}
          >
            {view.name}
          </button>
          {view.mine && onDelete && (
            <button
              type="button"
              className="quiet"
              aria-label={`Delete the layout ${view.name}`}
              onClick={() => onDelete(view.number)}
            >
              ×
            </button>
          )}
        </span>
      ))}
    </div>
  );
}

function SaveForm({ onSave }: { onSave: (name: string, shared: boolean) => void }) {
  const [name, setName] = useState("");
  const [shared, setShared] = useState(false);
  const mayShare = useMay("ingest");
  const save = (event: FormEvent) => {
    event.preventDefault();
    onSave(name, shared);
    setName("");
  };
  return (
    <form onSubmit={save}>
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
          for the team
        </label>
      )}
      <button type="submit">Save</button>
    </form>
  );
}
