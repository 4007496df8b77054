import { useLayoutEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { submitTask } from "../../api/annotation";
import type { Segment } from "../../api/schema";
import { Cameras } from "../../player/cameras";
import { Signals } from "../../plots/signals";
import { accept } from "./actions";
import { askedOf, saidBefore } from "./attributes";
import { BenchHead } from "./bench_head";
import { BenchSide, type Tab } from "./bench_side";
import { BenchTransport } from "./bench_transport";
import { useCards } from "./cards";
import { useComments } from "./comments";
import { ConflictDialog } from "./conflict_dialog";
import { Filmstrip } from "./filmstrip";
import { HandedIn } from "./handed_in";
import { choicesOf, isUnsaid, labelOf } from "./label_keys";
import { Lanes } from "./lanes";
import { useMissing } from "./missing";
import { say } from "./segments";
import { SignalsMarks } from "./signals_marks";
import { type Bench, type BenchParts, useBench } from "./use_bench";
import { useBenchKeys } from "./use_bench_keys";
import "./workbench.css";

/** The page an annotator works in: pictures, signals, lanes, and what is said of them. */
export function Workbench(parts: BenchParts) {
  const bench = useBench(parts);
  const { task, clock, episode, segment, canEdit } = bench;
  const [tab, setTab] = useState<Tab>(task.kind === "correct" ? "corrections" : "label");
  const [asked, setAsked] = useState<string | null>(null);
  const missing = useMissing(bench);
  const comments = useComments(task.id);
  const cards = useCards(task.id);
  const handIn = useHandIn(bench, missing.again);
  // Before the picture, like the choice of the first boundary: whoever then opens a tab keeps it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: anew with another segment
  useLayoutEffect(() => setAsked(null), [segment?.id]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: anew with another segment
  useLayoutEffect(() => {
    if (segment) setTab("label");
  }, [segment?.id]);
  useFirstBoundary(bench);
  useBenchKeys({
    bench,
    answer: (place) => answer(bench, asked, place, () => setAsked(null)),
    onObject: () => openObject(bench, setTab, setAsked),
    onInstruction: () => openField(setTab, "episode", "bench-new-instruction"),
    onComment: () => openField(setTab, "comments", "bench-new-comment"),
    onHandIn: handIn.run,
  });
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only watches what happens to the controls inside
    <div className="bench" onMouseDown={keepFocus} onKeyDown={leaveField}>
      <BenchHead
        bench={bench}
        isHandingIn={handIn.isRunning}
        onHandIn={handIn.run}
        onSaid={handIn.say}
      />
      {canEdit && !task.has_proposals && (
        <p className="bench-bar bench-note" role="note">
          {whyEmpty(task)}
        </p>
      )}
      {task.closed && <p className="bench-bar">{task.closed}</p>}
      {task.returned && (
        <p className="bench-bar" role="status">
          Returned: {task.returned}
        </p>
      )}
      {handIn.said && (
        <p className="bench-bar" role="alert">
          {handIn.said}
        </p>
      )}
      <ConflictDialog bench={bench} />
      {handIn.isDone && <HandedIn bench={bench} />}
      <div className="bench-middle">
        <div className="bench-main">
          <section className="bench-cameras" aria-label="Pictures">
            <Cameras episode={episode} clock={clock} setsSteps={false} />
          </section>
          <Filmstrip bench={bench} />
          <BenchTransport bench={bench} />
          <Lanes bench={bench} />
          <section className="bench-signals" aria-label="Signals">
            <div className="bench-plots">
              <Signals episode={episode} clock={clock} />
            </div>
            <SignalsMarks bench={bench} />
          </section>
        </div>
        <BenchSide
          bench={bench}
          tab={tab}
          onTab={setTab}
          asked={asked}
          onAsk={setAsked}
          missing={canEdit ? (missing.value?.missing ?? null) : null}
          comments={comments}
          cards={cards}
        />
      </div>
    </div>
  );
}

/** A click on a button leaves the keys with the page: Enter goes on accepting. */
function keepFocus(event: React.MouseEvent): void {
  if (!(event.target instanceof Element) || !event.target.closest("button")) return;
  event.preventDefault();
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
}

/** Escape gives the keys back to the page. */
function leaveField(event: React.KeyboardEvent): void {
  if (
    event.key === "Escape" &&
    event.target instanceof HTMLElement &&
    event.target.matches("input, textarea, select")
  )
    event.target.blur();
}

/** The field is there before the next key: what is typed at once goes into it. */
function openField(setTab: (tab: Tab) => void, tab: Tab, id: string): void {
  flushSync(() => setTab(tab));
  document.getElementById(id)?.focus();
}

/** The field for the object: of what is selected, else of the first that does not name one. */
function openObject(
  bench: Bench,
  setTab: (tab: Tab) => void,
  setAsked: (name: string) => void,
): void {
  const { segment, content, taxonomy } = bench;
  const asks = (each: Segment) =>
    [labelOf(taxonomy, each.lane, each.label)].some((label) =>
      [...(label?.attributes ?? []), ...(label?.optional ?? [])].includes(OBJECT),
    );
  const able = content.segments.filter(asks).sort((one, other) => one.start_ns - other.start_ns);
  const found =
    segment && asks(segment)
      ? segment
      : (able.find((each) => isUnsaid(each.attributes[OBJECT])) ?? able[0]);
  if (!found) return;
  flushSync(() => {
    if (found.id !== segment?.id) bench.select({ id: found.id, edge: "start" }, "show");
    setTab("label");
  });
  flushSync(() => setAsked(OBJECT));
  const field = document.querySelector(`[data-attribute=${OBJECT}]`);
  (field?.querySelector("input") ?? field?.querySelector("button"))?.focus();
}

const OBJECT = "object";

/** Where there are proposals, work begins at the first that nobody has confirmed. */
function useFirstBoundary(bench: Bench): void {
  const begun = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, whatever the bench becomes
  useLayoutEffect(() => {
    if (begun.current) return;
    begun.current = true;
    if (bench.canEdit && bench.stops.some((each) => !each.confirmed)) accept(bench);
  }, []);
}

function answer(bench: Bench, asked: string | null, place: number, onSaid: () => void): boolean {
  const { segment, taxonomy } = bench;
  const label = segment && labelOf(taxonomy, segment.lane, segment.label);
  const names = label ? [...label.attributes, ...(label.optional ?? [])] : [];
  const name = askedOf(bench, names, asked);
  if (!segment || !name) return false;
  const choice =
    choicesOf(taxonomy, name)[place]?.name ??
    (choicesOf(taxonomy, name).length ? undefined : saidBefore(bench, name)[place]);
  if (choice === undefined) return false;
  onSaid();
  return bench.do("say", say(segment, name, choice));
}

/** Everything is saved first; what is missing keeps the task here. */
function useHandIn(bench: Bench, onMissing: () => void) {
  const [isRunning, setRunning] = useState(false);
  const [said, setSaid] = useState<string | null>(null);
  const [isDone, setDone] = useState(false);
  const run = async () => {
    if (isRunning || !bench.canEdit) return;
    setRunning(true);
    try {
      await bench.book.flush();
      if (bench.book.state.waiting) {
        setSaid(
          "Some edits are not saved yet. It can be submitted as soon as the server has them.",
        );
        return;
      }
      const { submitted, missing } = await submitTask(bench.task.id);
      onMissing();
      if (submitted) setDone(true);
      else
        setSaid(
          `Not submitted: ${missing[0] ?? ""}${missing.length > 1 ? ` And ${missing.length - 1} more, listed on the right.` : ""}`,
        );
    } catch (error) {
      setSaid(error instanceof Error ? error.message : String(error));
    } finally {
      setRunning(false);
    }
  };
  return { run: () => void run(), isRunning, said, isDone, say: setSaid };
}

/** Why nothing is proposed, so that nobody waits for it. */
function whyEmpty({ settings, kind }: Bench["task"]): string {
  if (settings.blind === true || kind === "qualify")
    return "This one has no proposal, on purpose: say what you see.";
  return "This one has no proposal: its signals show no event that a label begins with.";
}
