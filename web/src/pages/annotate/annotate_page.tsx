import { useEffect, useMemo, useState } from "react";
import { getEvents, getTask } from "../../api/annotation";
import { getEpisode } from "../../api/episode";
import { nameOf } from "../../api/names";
import type { EpisodeDetail, WorkbenchTask } from "../../api/schema";
import { useSession } from "../../api/session";
import { getStamps } from "../../api/stamps";
import { useAnswer } from "../../api/use_answer";
import { Notice, Waiting } from "../../parts/notice";
import { Clock } from "../../player/clock";
import { FrameLine } from "./frame_line";
import { indexedDbStore } from "./indexed_db_store";
import { recoverEdits } from "./kept_edits";
import { ReadOnly } from "./read_only";
import { Workbench } from "./workbench";

interface Opened {
  task: WorkbenchTask;
  episode: EpisodeDetail;
  stamps: Float64Array;
}

async function open(id: string, who: string, signal: AbortSignal): Promise<Opened> {
  const task = await getTask(id, signal);
  await recoverEdits(task, who, localStorage, indexedDbStore);
  const [episode, stamps] = await Promise.all([
    getEpisode(task.episode, signal),
    task.reference ? getStamps(task.episode, task.reference, signal) : new Float64Array(),
  ]);
  return { task, episode, stamps };
}

/** /annotate/<task>: the workbench, or on a small screen what was said. */
export default function AnnotatePage({ address }: { address: URL }) {
  const id = decodeURIComponent(address.pathname.split("/")[2] ?? "");
  const isSmall = useSmallScreen();
  const { name } = useSession();
  // Asked anew when the window grows or shrinks: what was done meanwhile is part of the task.
  const answer = useAnswer((signal) => open(id, name, signal), [id, name, isSmall]);
  if (answer.error && !answer.waiting) return <Notice error={answer.error} again={answer.again} />;
  if (!answer.value || answer.waiting) return <Waiting what="Opening the task" />;
  if (isSmall) return <ReadOnly task={answer.value.task} stamps={answer.value.stamps} />;
  return <Opened key={id} {...answer.value} />;
}

function Opened({ task, episode, stamps }: Opened) {
  const { read_only } = useSession();
  const clock = useMemo(
    () =>
      new Clock(
        episode.start_ns,
        episode.end_ns,
        Math.max(episode.start_ns, Math.min(0, episode.end_ns)),
      ),
    [episode],
  );
  const line = useMemo(() => new FrameLine(stamps, task.end_ns), [stamps, task]);
  const events = useAnswer((signal) => getEvents(episode.id, signal), [episode.id]);
  useEffect(() => clock.setSteps(stamps, task.reference), [clock, stamps, task]);
  useEffect(() => () => clock.close(), [clock]);
  useEffect(() => {
    const before = document.title;
    document.title = `Label ${nameOf(episode.row)} ${episode.row.task ?? "episode"} · Corporeal`;
    return () => {
      document.title = before;
    };
  }, [episode]);
  return (
    <Workbench
      task={task}
      episode={episode}
      clock={clock}
      line={line}
      events={events.value ?? []}
      isReadOnly={read_only}
    />
  );
}

function useSmallScreen(): boolean {
  const query = useMemo(() => window.matchMedia("(max-width: 900px)"), []);
  const [isSmall, setSmall] = useState(query.matches);
  useEffect(() => {
    const change = () => setSmall(query.matches);
    query.addEventListener("change", change);
    return () => query.removeEventListener("change", change);
  }, [query]);
  return isSmall;
}
