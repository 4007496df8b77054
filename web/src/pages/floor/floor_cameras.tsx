import { useKept } from "../../parts/use_kept";
import type { Recorder } from "../live/health";
import { shortName } from "./floor_state";

/** Two cameras as large as the screen allows; which ones is remembered. */
export function FloorCameras({ recorder }: { recorder: Recorder }) {
  const [kept, setKept] = useKept<string[]>("studio.floor.cameras", []);
  const all = (recorder.health?.streams ?? []).filter(
    ({ path, kind }) => kind === "video" || kind === "depth" || path in recorder.pictures,
  );
  const [first, second] = [...all].sort(
    (a, b) => Number(a.kind === "depth") - Number(b.kind === "depth"),
  );
  const shown = [0, 1].flatMap((place) => {
    const found = all.find(({ path }) => path === kept[place]) ?? [first, second][place];
    return found ? [found] : [];
  });
  if (!shown.length) return <p className="station-cameras muted">This station has no camera.</p>;
  return (
    <ul className="station-cameras" aria-label="Cameras">
      {shown.map(({ path, state }, place) => (
        <li key={`${place} ${path}`} className={state === "silent" ? "camera-dead" : undefined}>
          {recorder.pictures[path] ? (
            <img src={recorder.pictures[path]} alt={`What ${shortName(path)} sees`} />
          ) : (
            <span className="camera-none">no picture yet</span>
          )}
          <label>
            <span className="camera-label">Camera {place + 1}</span>
            <select
              value={path}
              onChange={(event) => {
                const next = shown.map((each) => each.path);
                next[place] = event.target.value;
                setKept(next);
                event.target.blur();
              }}
            >
              {all.map((each) => (
                <option key={each.path} value={each.path}>
                  {shortName(each.path)}
                </option>
              ))}
            </select>
            {state === "silent" && <b>dead</b>}
          </label>
        </li>
      ))}
    </ul>
  );
}
