import { useState, useSyncExternalStore } from "react";
import { useKept } from "../../parts/use_kept";
import { nameOf, type Recorder } from "../live/health";
import { LiveFeed, type LiveView } from "../live/live_feed";
import { chosen, stationOf } from "./floor_state";
import { Station } from "./station";
import "./floor.css";

/** The operator's page: one station, readable from three metres, driven by keys or a pedal. */
export default function Floor(_: { address: URL }) {
  const [feed] = useState(() => new LiveFeed());
  const view = useSyncExternalStore(feed.subscribe, feed.read);
  const [station, setStation] = useKept("studio.floor.station", "");
  const known = view.recorders.filter(({ health }) => health !== null);
  const recorder = chosen(known, station);
  return (
    <div className="floor">
      <h1 className="floor-title">Floor</h1>
      {view.link === "lost" && (
        <p className="floor-lost" role="alert">
          {view.sentence ||
            "Studio does not answer. The recorder goes on: use its own keys or its pedal."}
        </p>
      )}
      {recorder ? (
        <Station
          key={recorder.address}
          recorder={recorder}
          choice={
            <StationChoice recorders={known} value={stationOf(recorder)} onChange={setStation} />
          }
        />
      ) : (
        <NoStation view={view} known={known} wanted={station} onChoose={setStation} />
      )}
    </div>
  );
}

/** Which station this screen stands at; nothing where there is only one. */
function StationChoice({
  recorders,
  value,
  onChange,
}: {
  recorders: Recorder[];
  value: string;
  onChange: (value: string) => void;
}) {
  if (recorders.length < 2) return null;
  return (
    <label className="floor-choice">
      Station{" "}
      <select
        value={value}
        onChange={(event) => {
          onChange(event.target.value);
          event.target.blur();
        }}
      >
        {recorders.map((each) => (
          <option key={each.address} value={stationOf(each)}>
            {nameOf(each)}
          </option>
        ))}
      </select>
    </label>
  );
}

function NoStation({
  view,
  known,
  wanted,
  onChoose,
}: {
  view: LiveView;
  known: Recorder[];
  wanted: string;
  onChoose: (value: string) => void;
}) {
  if (view.link === "connecting") return <p className="waiting">Looking for recorders…</p>;
  return (
    <section className="floor-none card" role="status">
      <h2>{wanted ? `Station ${wanted} is not there` : "Which station is this?"}</h2>
      {known.map((each) => (
        <button key={each.address} type="button" onClick={() => onChoose(stationOf(each))}>
          {nameOf(each)}
        </button>
      ))}
      {!known.length && (
        <>
          <p>No recorder runs here. Start one, and it appears within a few seconds:</p>
          <pre>corporeal record --rig rig.yaml --trigger key --station s1 --plan 50 -w LAB</pre>
          <p>To drive a robot from a page of its own, with a headset, a gamepad or keys:</p>
          <pre>corporeal teleoperate --robot g1 --driver sim --task pick_place --record takes</pre>
        </>
      )}
      {wanted && (
        <button type="button" className="quiet" onClick={() => onChoose("")}>
          Forget {wanted}
        </button>
      )}
    </section>
  );
}
