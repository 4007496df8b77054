import { useEffect, useState, useSyncExternalStore } from "react";
import { useShortcuts } from "../../parts/shortcuts";
import { count } from "../../parts/words";
import "./guide.css";
import {
  type GuideCommand,
  GuideFeed,
  type GuideView,
  type Progress,
  press,
  share,
  stepsOf,
} from "./guide_feed";
import { GuidePicture } from "./guide_picture";

/** A camera calibrated by views that are asked for: hold the board where the outline is. */
export default function Guide(_: { address: URL }) {
  const [feed] = useState(() => new GuideFeed());
  const view = useSyncExternalStore(feed.subscribe, feed.read);
  const [shows, setShows] = useState<"uncertainty" | "coverage">("uncertainty");
  const [trouble, setTrouble] = useState("");
  const ask = (command: GuideCommand) => {
    setTrouble("");
    press(command).catch((error: Error) => setTrouble(error.message));
  };
  const turn = () => setShows((now) => (now === "coverage" ? "uncertainty" : "coverage"));
  useShortcuts("Guided calibration", [
    { keys: [" "], does: "Take what the camera sees now", run: () => ask("take") },
    { keys: ["n"], does: "Ask for another view", run: () => ask("skip") },
    { keys: ["u"], does: "Give the last view back", run: () => ask("undo") },
    { keys: ["f"], does: "Finish this camera as it is", run: () => ask("finish") },
    { keys: ["m"], does: "Show uncertainty, or what was seen", run: turn },
  ]);
  const { progress } = view;
  if (!progress) return <Waiting view={view} />;
  if (progress.state === "over") return <Over progress={progress} />;
  return (
    <div className="guide">
      <h1>
        Calibrate {progress.camera}
        {progress.cameras.length > 1 && (
          <span className="muted">
            {" "}
            camera {progress.cameras.indexOf(progress.camera) + 1} of {progress.cameras.length}
          </span>
        )}
      </h1>
      {view.link === "lost" && (
        <p className="guide-lost" role="alert">
          {view.sentence ||
            "The command does not answer: what you see is old. What was taken is kept; call it again."}
        </p>
      )}
      <div className="guide-body">
        <div className="guide-left">
          <GuidePicture {...view} progress={progress} shows={shows} />
          <Legend shows={shows} goal={progress.goal_px} hasMap={progress.map !== null} />
        </div>
        <aside className="guide-panel">
          <Asked view={view} progress={progress} />
          <Goal progress={progress} />
          <div className="guide-buttons">
            <button type="button" onClick={() => ask("take")}>
              Take now <kbd>Space</kbd>
            </button>
            <button type="button" onClick={() => ask("skip")}>
              Another view <kbd>N</kbd>
            </button>
            <button
              type="button"
              onClick={() => ask("undo")}
              disabled={progress.views.length === 0}
            >
              Undo last <kbd>U</kbd>
            </button>
            <button
              type="button"
              onClick={() => ask("finish")}
              disabled={progress.mean_px === null}
            >
              Finish as it is <kbd>F</kbd>
            </button>
            <button type="button" className="quiet" onClick={turn}>
              {shows === "coverage" ? "Show uncertainty" : "Show what was seen"} <kbd>M</kbd>
            </button>
          </div>
          {(trouble || progress.trouble) && (
            <p className="guide-trouble" role="alert">
              {trouble || progress.trouble}
            </p>
          )}
        </aside>
      </div>
    </div>
  );
}

/** What to do now, large enough to be read from where the board is held. */
function Asked({ view, progress }: { view: GuideView; progress: Progress }) {
  const { sight } = view;
  const words =
    progress.state === "written" ? progress.said : (sight?.words ?? "opening the camera");
  return (
    <section aria-label="What to do">
      <p className={sight?.is_good ? "guide-words guide-words-good" : "guide-words"}>{words}</p>
      <p className="guide-asked">{progress.asked?.words ?? "no view helps any more"}</p>
      <ul className="guide-steps">
        {stepsOf(sight).map(({ name, isDone, text }) => (
          <li key={name} className={isDone ? "guide-step-done" : undefined}>
            <span aria-hidden>{isDone ? "✓" : "○"}</span> {name}
            <span className="guide-spoken">{isDone ? " as asked" : " not yet"}</span>{" "}
            <span className="num muted">{text}</span>
          </li>
        ))}
      </ul>
      <p className="guide-said" role="status">
        {progress.said}
      </p>
    </section>
  );
}

function Goal({ progress }: { progress: Progress }) {
  const { mean_px, rms_px, goal_px, goal_rms_px, views } = progress;
  return (
    <section aria-label="Goal">
      <progress max={1} value={share(progress)} aria-label="How near the goal is" />
      <dl className="guide-facts">
        <div>
          <dt>A pixel is known to</dt>
          <dd className="num">
            {mean_px === null ? "not yet" : `${short(mean_px)} px`}{" "}
            <span className="muted">of {goal_px} px</span>
          </dd>
        </div>
        <div>
          <dt>Left over (rms)</dt>
          <dd className="num">
            {rms_px === null ? "not yet" : `${rms_px.toFixed(2)} px`}{" "}
            <span className="muted">of {goal_rms_px} px</span>
          </dd>
        </div>
        <div>
          <dt>Views</dt>
          <dd className="num">{views.length}</dd>
        </div>
      </dl>
    </section>
  );
}

function short(value: number): string {
  return value >= 10 ? value.toFixed(0) : value.toFixed(2);
}

function Legend({
  shows,
  goal,
  hasMap,
}: {
  shows: "uncertainty" | "coverage";
  goal: number;
  hasMap: boolean;
}) {
  return (
    <ul className="guide-legend">
      <li>
        <i className="guide-key-ghost" /> hold the board here, thick edge up
      </li>
      <li>
        <i className="guide-key-seen" /> the board
      </li>
      {shows === "coverage" ? (
        <li>corners that were seen, a colour for each view</li>
      ) : hasMap ? (
        <>
          <li>
            <i className="guide-unsure" /> to {2 * goal} px
          </li>
          <li>
            <i className="guide-bad" /> to {4 * goal} px
          </li>
          <li>
            <i className="guide-unknown" /> more; clear: good
          </li>
        </>
      ) : (
        <li>how sure the picture is shows after four views</li>
      )}
    </ul>
  );
}

function Waiting({ view }: { view: GuideView }) {
  if (view.link !== "none" && view.link !== "lost")
    return (
      <p className="guide-empty muted" role="status">
        Waiting for the camera…
      </p>
    );
  return (
    <section className="guide-empty card" role="status">
      <h1>{view.sentence || "No guided calibration runs."}</h1>
      <p>Start one in a terminal; it opens this page at an address of its own:</p>
      <pre>corporeal calibrate guide --driver camera --board charuco_a4 -o cell.yaml --open</pre>
    </section>
  );
}

/** What became of every camera. */
function Over({ progress }: { progress: Progress }) {
  const good = progress.done.filter((each) => each.is_good).length;
  useEffect(() => {
    document.title = "Calibrated · Corporeal Studio";
  }, []);
  return (
    <section className="guide-empty card" role="status">
      <h1>
        {good === progress.cameras.length
          ? `${count(good, "camera")} calibrated`
          : `${good} of ${count(progress.cameras.length, "camera")} calibrated`}
      </h1>
      <ul>
        {progress.done.map((each) => (
          <li key={each.camera}>
            <b>{each.camera}</b>: {count(each.views, "view")}
            {each.mean_px !== null && `, a pixel is known to ${short(each.mean_px)} px`}{" "}
            <span className={each.is_good ? "chip accepted" : "chip quarantine"}>
              {each.is_good ? "good" : each.is_written ? "written as it is" : "not finished"}
            </span>
          </li>
        ))}
      </ul>
      {progress.done.some((each) => each.is_written) && (
        <p>
          Written to <code>{progress.out}</code>. Next, note where the marker is:{" "}
          <code>corporeal calibrate reference SOURCE -c {progress.out}</code>
        </p>
      )}
      {good < progress.cameras.length && (
        <p>The views that were taken are kept: the same command goes on with them.</p>
      )}
    </section>
  );
}
