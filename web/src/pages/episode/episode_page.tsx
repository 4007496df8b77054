import { lazy, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { getEvents } from "../../api/annotation";
import { getEpisode } from "../../api/episode";
import { watchMarks } from "../../api/marks";
import { nameOf } from "../../api/names";
import type { EpisodeDetail, EventFacts } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { Notice, Waiting } from "../../parts/notice";
import { useShortcuts } from "../../parts/shortcuts";
import type { Room } from "../../player/camera_grid";
import { Cameras } from "../../player/cameras";
import { Clock } from "../../player/clock";
import { allPicturesFrom } from "../../player/moment";
import { Timeline } from "../../player/timeline";
import { Transport } from "../../player/transport";
import { useFirstPicture } from "../../player/use_first_picture";
import { Signals } from "../../plots/signals";
import { Tactile } from "../../scene/tactile";
import { EpisodeHead } from "./episode_head";
import "./episode_page.css";
import { Incident } from "./incident";
import { type PanelName, panelsIn } from "./layout";
import { LayoutMenu } from "./layout_menu";
import { PanelBoard } from "./panel_board";
import { SidePanel } from "./side_panel";
import { isIncident } from "./story";
import { hasNews, SummaryStrip } from "./summary_strip";
import { useLayout } from "./use_layout";
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
  const page = useRef<HTMLDivElement>(null);
  // The pictures come first: robot, maps and plots are heavy, and ask for much.
  const hasPicture = useFirstPicture(page);
  const events = useEvents(episode.id, hasPicture);
  const { notes, again, noted, dialog } = useNotes(episode, clock);
  const [isArranging, setArranging] = useState(false);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const { layout, shown, isOpen, setLayout, setShown, toggle } = useLayout(
    episode,
    hasNews(episode, notes, address),
  );
  useShortcuts("Episode", [
    { keys: ["i"], does: "Show or hide what is known", run: toggle },
    { keys: ["w"], does: "Layout of the panels", run: () => setMenuOpen(true) },
  ]);
  const timeline = <Timeline episode={noted} clock={clock} detected={events} />;
  const panel = (name: PanelName, room: Room | undefined, onPacked: (width: number) => void) => {
    if (name === "cameras")
      return (
        <div className="episode-cameras">
          <Cameras episode={episode} clock={clock} room={room} onPacked={onPacked} />
        </div>
      );
    if (name === "robot")
      return <RobotPanel episode={episode} clock={clock} isReady={hasPicture} />;
    if (name === "plots")
      return (
        <div className="episode-timing">
          {timeline}
          <div className="episode-signals">
            {hasPicture && <Signals episode={episode} clock={clock} isBelowTimeline />}
          </div>
        </div>
      );
    return (
      <SidePanel
        episode={episode}
        clock={clock}
        isReady={hasPicture}
        notes={notes}
        onNotes={again}
      />
    );
  };
  return (
    <div className="episode" ref={page}>
      <EpisodeHead
        episode={episode}
        clock={clock}
        isReady={hasPicture}
        isSideOpen={isOpen}
        onSide={toggle}
        onLayout={() => setMenuOpen(true)}
      />
      {dialog}
      {isMenuOpen && (
        <LayoutMenu
          layout={layout}
          onLayout={setLayout}
          titles={panelTitles}
          isArranging={isArranging}
          onArrange={setArranging}
          onClose={() => setMenuOpen(false)}
        />
      )}
      <Incident episode={episode} clock={clock} events={events} />
      {!isOpen && !isIncident(episode) && <SummaryStrip episode={episode} onOpen={toggle} />}
      {isArranging && (
        <p className="episode-arranging">
          Drag a panel to an edge of another one, or use its arrows.{" "}
          <button type="button" onClick={() => setArranging(false)}>
            Done
          </button>
        </p>
      )}
      <PanelBoard
        layout={shown}
        onLayout={setShown}
        isArranging={isArranging}
        panel={panel}
        titles={panelTitles}
      />
      <footer className="episode-foot">
        {!panelsIn(shown).includes("plots") && timeline}
        <Transport episode={episode} clock={clock} />
      </footer>
    </div>
  );
}

const panelTitles: Record<PanelName, string> = {
  cameras: "Cameras",
  robot: "Robot",
  plots: "Timeline and plots",
  details: "What is known",
};

function RobotPanel({
  episode,
  clock,
  isReady,
}: {
  episode: EpisodeDetail;
  clock: Clock;
  isReady: boolean;
}) {
  return (
    <div className="episode-robot">
      <div className="episode-scene">
        <Suspense fallback={<Waiting what="Loading the robot" />}>
          {isReady && <Scene episode={episode} clock={clock} />}
        </Suspense>
      </div>
      <div className="episode-tactile">
        {isReady && <Tactile episode={episode} clock={clock} />}
      </div>
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
  const begin = Math.max(allPicturesFrom(episode), Math.min(0, episode.end_ns));
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
