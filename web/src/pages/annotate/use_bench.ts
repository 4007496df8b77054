// What the workbench knows and can do: one object that all of its parts share.
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { getTask, type Step, sendEdits } from "../../api/annotation";
import type {
  Annotation,
  EpisodeDetail,
  EventFacts,
  LabelLane,
  Segment,
  Taxonomy,
  WorkbenchTask,
} from "../../api/schema";
import { useSession } from "../../api/session";
import type { Clock } from "../../player/clock";
import { type Stop, stopsOf } from "./boundary_stops";
import type { FrameLine } from "./frame_line";
import { indexedDbStore } from "./indexed_db_store";
import { playAround, showMoment } from "./play_around";
import type { Edge } from "./segments";
import { Workbook, type WorkState } from "./workbook";

export interface Selected {
  id: string;
  edge: Edge;
}

export interface Bench {
  task: WorkbenchTask;
  taxonomy: Taxonomy;
  episode: EpisodeDetail;
  clock: Clock;
  line: FrameLine;
  events: readonly EventFacts[];
  book: Workbook;
  work: WorkState;
  content: Annotation;
  stops: readonly Stop[];
  /** The lane whose labels the keys set. */
  lane: LabelLane;
  setLane: (name: string) => void;
  selected: Selected | null;
  segment: Segment | null;
  select: (selected: Selected | null, look?: "play" | "show" | "stay") => void;
  /** Whether anything may be changed here. */
  canEdit: boolean;
  do: (action: string, steps: Step[]) => boolean;
}

export function useWorkbook(task: WorkbenchTask): Workbook {
  const { name } = useSession();
  const book = useMemo(
    () =>
      new Workbook(
        task,
        name,
        { get: () => getTask(task.id), send: (base, edits) => sendEdits(task.id, base, edits) },
        localStorage,
        1000,
        indexedDbStore,
      ),
    [task, name],
  );
  useEffect(() => {
    const look = (event: StorageEvent) => book.look(event.key);
    const online = () => void book.flush();
    const leave = (event: BeforeUnloadEvent) => {
      if (book.state.waiting && !book.state.isSafe) event.preventDefault();
    };
    window.addEventListener("storage", look);
    window.addEventListener("online", online);
    window.addEventListener("beforeunload", leave);
    void book.flush();
    return () => {
      window.removeEventListener("storage", look);
      window.removeEventListener("online", online);
      window.removeEventListener("beforeunload", leave);
      book.close();
    };
  }, [book]);
  return book;
}

export interface BenchParts {
  task: WorkbenchTask;
  episode: EpisodeDetail;
  clock: Clock;
  line: FrameLine;
  events: readonly EventFacts[];
  isReadOnly: boolean;
}

export function useBench({ task, episode, clock, line, events, isReadOnly }: BenchParts): Bench {
  const book = useWorkbook(task);
  const work = useSyncExternalStore(book.subscribe, () => book.state);
  const { content } = work.history;
  const { taxonomy } = task;
  const stops = useMemo(() => stopsOf(content, taxonomy), [content, taxonomy]);
  const [laneName, setLane] = useState(taxonomy.lanes[0]?.name ?? "");
  const [selected, setSelected] = useState<Selected | null>(null);
  const segment = content.segments.find((each) => each.id === selected?.id) ?? null;
  const lane = (taxonomy.lanes.find((each) => each.name === laneName) ??
    taxonomy.lanes[0]) as LabelLane;
  const canEdit = !isReadOnly && task.closed === null;
  const select = (next: Selected | null, look: "play" | "show" | "stay" = "show") => {
    setSelected(next);
    const found = book.content.segments.find((each) => each.id === next?.id);
    if (!found || !next) return;
    setLane(found.lane);
    const timeNs = next.edge === "start" ? found.start_ns : found.end_ns;
    if (look === "play") playAround(clock, timeNs);
    else if (look === "show") showMoment(clock, timeNs);
  };
  const act = (action: string, steps: Step[]) => canEdit && book.do(action, steps);
  return {
    task,
    taxonomy,
    episode,
    clock,
    line,
    events,
    book,
    work,
    content,
    stops,
    lane,
    setLane,
    selected: segment ? selected : null,
    segment,
    select,
    canEdit,
    do: act,
  };
}
