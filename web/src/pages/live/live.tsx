import { useState, useSyncExternalStore } from "react";
import { Link } from "../../parts/link";
import { AlarmBanner } from "./alarm_banner";
import { alarmsOf } from "./health";
import { LiveFeed } from "./live_feed";
import { RecorderCard } from "./recorder_card";
import "./live.css";

/** Recorders at work, and an alarm that nobody misses when a stream dies. */
export default function Live(_: { address: URL }) {
  const [feed] = useState(() => new LiveFeed());
  const view = useSyncExternalStore(feed.subscribe, feed.read);
  const alarms = view.recorders.flatMap(alarmsOf);
  return (
    <div className="live">
      <h1>Live</h1>
      {view.recorders.length > 1 && (
        <p className="muted">
          <Link href="/board">All stations on the board</Link>
        </p>
      )}
      <AlarmBanner alarms={alarms} />
      {view.link === "lost" && (
        <p className="live-lost" role="alert">
          {view.sentence ||
            "Studio's server does not answer: what you see is old. Studio tries again by itself."}
        </p>
      )}
      {view.recorders.map((recorder) => (
        <RecorderCard key={recorder.address} recorder={recorder} />
      ))}
      {view.link === "open" && !view.recorders.length && <NobodyRecords />}
    </div>
  );
}

function NobodyRecords() {
  return (
    <section className="live-empty card" role="status">
      <h2>No recorder runs on this machine</h2>
      <p>Start one in a terminal, and it appears here within a few seconds:</p>
      <pre>corporeal record --driver sim --task pick_place --out recordings</pre>
      <p>
        A recorder publishes on its own machine alone. One that runs elsewhere is brought here
        through SSH:
      </p>
      <pre>ssh -N -L 8799:127.0.0.1:8790 robot-pc</pre>
      <p className="muted">
        <code>corporeal record --list-drivers</code> lists the sources: robots over DDS and ROS 2,
        bags, simulation.
      </p>
    </section>
  );
}
