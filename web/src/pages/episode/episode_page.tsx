import { lazy, Suspense, useEffect, useMemo, useRef } from "react";
import { getEvents } from "../../api/annotation";
import { getEpisode } from "../../api/episode";
import { watchMarks } from "../../api/marks";
import { nameOf } from "../../api/names";
import type { EpisodeDetail, EventFacts } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { Notice, Waiting } from "../../parts/notice";
import { useShortcuts } from "../../parts/shortcuts";
import { Cameras } from "../../player/cameras";
import { Clock } from "../../player/clock";
import { Timeline } from "../../player/timeline";
import { Transport } from "../../player/transport";
import { useFirstPicture } from "../../player/use_first_picture";
import { Signals } from "../../plots/signals";
import { Tactile } from "../../scene/tactile";
import { EpisodeHead } from "./episode_head";
import "./episode_page.css";
import { useKept } from "../../parts/use_kept";
import { Incident } from "./incident";
import { SidePanel } from "./side_panel";
import { Splitter } from "./splitter";
import { useNotes } from "./use_notes";

const Scene = lazy(() => import("../../scene/scene"));

export default function EpisodePage({ address }: { address: URL }) {
  const id = decodeURIComponent(address.pathname.split("/")[2] ?? "");
  const answer = useAnswer((signal) => getEpisode(id, signal), [id]);
  const { again } = answer;
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => watchMarks(() => latest.current()), []);
  if (answer.error) return <Notice error={answer.error} again={answer.again} />;
  if (!answer.value || answer.value.id !== id) return <Waiting what="Opening the episode" />;
  return <OpenEpisode key={id} episode={answer.value} address={address} />;
}

function OpenEpisode({ episode, address }: { episode: EpisodeDetail; address: URL }) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the address only says where the clock begins
  const clock = useMemo(() => clockOf(episode, address), [episode]);
  useEffect(() => () => clock.close(), [clock]);
  useEffect(() => nameWindow(episode), [episode]);
  const cameras = useRef<HTMLDivElement>(null);
  // The pictures come first: robot, maps and plots are heavy, and ask for much.
  const hasPicture = useFirstPicture(cameras);
  const [height, setHeight] = useKept<number>("studio.episode.views", 56);
  const [width, setWidth] = useKept<number>("studio.episode.main", 75);
  const [isOpen, setOpen] = useKept<boolean>("studio.episode.side", true);
  const events = useEvents(episode.id, hasPicture);
  const { notes, again, noted, dialog } = useNotes(episode, clock);
  useShortcuts("Episode", [
    { keys: ["i"], does: "Show or hide what is known", run: () => setOpen(!isOpen) },
  ]);
  return (
    <div className="episode">
      <EpisodeHead
        episode={episode}
        clock={clock}
        isReady={hasPicture}
        isSideOpen={isOpen}
        onSide={() => setOpen(!isOpen)}
      />
      {dialog}
      <Incident episode={episode} clock={clock} events={events} />
      <div className="episode-middle">
        <div className="episode-main" style={{ flexBasis: isOpen ? `${width}%` : "100%" }}>
          <section className="episode-views" aria-label="Views" style={{ flexBasis: `${height}%` }}>
            <div className="episode-cameras" ref={cameras}>
              <Cameras episode={episode} clock={clock} />
            </div>
            <div className="episode-robot">
              <div className="episode-scene">
                <Suspense fallback={<Waiting what="Loading the robot" />}>
                  {hasPicture && <Scene episode={episode} clock={clock} />}
                </Suspense>
              </div>
              <div className="episode-tactile">
                {hasPicture && <Tactile episode={episode} clock={clock} />}
              </div>
            </div>
          </section>
          <Splitter
            label="Height of the views"
            lies="horizontal"
            value={height}
            least={20}
            most={80}
            onChange={setHeight}
          />
          <section className="episode-signals" aria-label="Signals">
            {hasPicture && <Signals episode={episode} clock={clock} />}
          </section>
        </div>
        {isOpen && (
          <Splitter
            label="Width of the views"
            lies="vertical"
            value={width}
            least={40}
            most={85}
            onChange={setWidth}
          />
        )}
        {isOpen && (
          <aside className="episode-side" aria-label="What is known">
            <SidePanel
              episode={episode}
              clock={clock}
              isReady={hasPicture}
              notes={notes}
              onNotes={again}
            />
          </aside>
        )}
      </div>
      <footer className="episode-foot">
        <Timeline episode={noted} clock={clock} detected={events} />
        <Transport episode={episode} clock={clock} />
      </footer>
    </div>
  );
}

const none: EventFacts[] = [];

/** What detectors found in the signals, asked for once the first picture is there. */
function useEvents(id: string, isReady: boolean): EventFacts[] {
  const answer = useAnswer(
    (signal) => (isReady ? getEvents(id, signal) : Promise.resolve(none)),
    [id, isReady],
  );
  return answer.value ?? none;
}

/** The clock of the episode, at the moment of the link or where the episode begins. */
function clockOf(episode: EpisodeDetail, address: URL): Clock {
  const said = address.searchParams.get("t");
  const moment = said === null || said.trim() === "" ? Number.NaN : Number(said);
  const begin = Math.max(episode.start_ns, Math.min(0, episode.end_ns));
  return new Clock(
    episode.start_ns,
    episode.end_ns,
    Number.isFinite(moment) ? Math.round(moment) : begin,
  );
}

function nameWindow(episode: EpisodeDetail): () => void {
  const before = document.title;
  document.title = `${nameOf(episode.row)} ${episode.row.task ?? "episode"} · Corporeal`;
  return () => {
    document.title = before;
  };
}
