import { type ReactNode, useState } from "react";
import { useMay } from "../../api/session";
import { sendTakeMark, type TakeMark } from "../../api/takes";
import { useShortcuts } from "../../parts/shortcuts";
import { useKept } from "../../parts/use_kept";
import { nameOf, type Recorder } from "../live/health";
import { EpisodeCardView, RefuseDialog } from "./episode_card";
import { FloorCameras } from "./floor_cameras";
import { barOf, countText, floorOf, lampsOf, openTake, rulesOf, type Take } from "./floor_state";
import { PedalDialog } from "./pedal_dialog";
import { TakeList } from "./take_list";
import { TakeQuestions } from "./take_questions";

/** One station: its state, what to do, what its cameras see, and the five things an operator does. */
export function Station({ recorder, choice }: { recorder: Recorder; choice: ReactNode }) {
  const { send, refusal, isBusy } = useMarks(recorder.address);
  const [pedal, setPedal] = useKept("studio.floor.pedal", "");
  const [asksPedal, setAsksPedal] = useState(false);
  const [asksWhy, setAsksWhy] = useState(false);
  const mayDrive = useMay("ingest");
  const floor = floorOf(recorder.health);
  const bar = barOf(recorder);
  const take = openTake(recorder);
  const isRecording = take?.state === "recording";
  const card = floor.card ?? null;
  const mayRefuse = card !== null && take === null;
  const isThere = recorder.status === "connected" && recorder.health?.state !== "ended";
  const isHalted =
    recorder.health?.calibration?.state === "halted" || recorder.health?.work?.state === "halted";
  // A camera on the robot is looked at when somebody asks, with the robot as it was noted.
  const canCheck =
    mayDrive && isThere && take === null && Boolean(recorder.health?.calibration) && !isBusy;
  const canStart = isThere && !isRecording && floor.starts_by === "key" && !isHalted;
  const actions: Action[] = [
    {
      name: isRecording ? "Stop" : "Start",
      does: "Start or stop a take",
      look: "start",
      keys: [" ", ...(pedal ? [pedal] : [])],
      isOn: mayDrive && (isRecording || canStart),
      mark: { mark: isRecording ? "end" : "start" },
    },
    {
      name: "Success",
      does: "The take was a success, and ends",
      look: "success",
      keys: ["s"],
      isOn: mayDrive && take !== null,
      mark: { mark: "outcome", success: true, end: true },
    },
    {
      name: "Failed",
      does: "The take failed, and ends; it is kept as a failure",
      look: "failed",
      keys: ["f"],
      isOn: mayDrive && take !== null,
      mark: { mark: "outcome", success: false, end: true },
    },
    {
      name: "Discard",
      does: "Discard the take: it is kept, and held back",
      look: "discard",
      keys: ["d"],
      isOn: mayDrive && take !== null,
      mark: { mark: "discard" },
    },
  ];
  useShortcuts("Floor", [
    ...actions.map(({ does, keys, isOn, mark }) => ({
      keys,
      does,
      // A pedal that is held down repeats its key.
      run: (event: KeyboardEvent) => {
        if (isOn && !event.repeat && !isBusy) void send(mark);
      },
    })),
    {
      keys: ["c"],
      does: "Check the calibration now",
      run: (event: KeyboardEvent) => {
        if (canCheck && !event.repeat) void send({ mark: "check" });
      },
    },
    { keys: ["p"], does: "Choose the pedal's key", run: () => setAsksPedal(true) },
    {
      keys: ["r"],
      does: "Refuse the card, with a reason",
      run: () => {
        if (mayRefuse && mayDrive) setAsksWhy(true);
      },
    },
  ]);
  return (
    <section className="station" aria-label={`Station ${nameOf(recorder)}`}>
      <header className={`station-bar station-${bar.colour}`}>
        <strong role="status">{bar.text}</strong>
        <span className="station-count">{countText(floor)}</span>
        <span className="station-sentence">{bar.sentence}</span>
      </header>
      <p className="station-instruction">
        {card?.instruction ||
          floor.instruction ||
          recorder.health?.facts?.task?.replaceAll("_", " ") ||
          "No task was given."}
      </p>
      <div className="station-asks">
        {isThere &&
          [...(floor.no_card ? [floor.no_card] : []), ...(recorder.health?.asks ?? [])]
            .filter((each) => each !== bar.sentence)
            .map((each) => (
              <p key={each} className="station-ask">
                {each}
              </p>
            ))}
        {!isRecording && <Feedback take={floor.takes[0]} />}
      </div>
      <div className={card ? "station-middle station-with-card" : "station-middle"}>
        {card && (
          <EpisodeCardView
            card={card}
            isRunning={!mayRefuse}
            mayDrive={mayDrive}
            onRefuse={() => setAsksWhy(true)}
          />
        )}
        <FloorCameras recorder={recorder} />
        <div className="station-side">
          {recorder.health && <Lamps health={recorder.health} isThere={isThere} />}
          <TakeQuestions floor={floor} take={take} mayDrive={mayDrive} send={send} />
          <TakeList floor={floor} />
        </div>
      </div>
      {refusal && (
        <p className="station-refusal" role="alert">
          {refusal}
        </p>
      )}
      <footer className="station-actions">
        {actions.map(({ name, look, keys, isOn, mark }) => (
          <button
            key={look}
            type="button"
            className={`station-${look}`}
            disabled={!isOn}
            onClick={(event) => {
              // The pedal types Space: it must not press what the mouse pressed last.
              if (event.detail > 0) event.currentTarget.blur();
              void send(mark);
            }}
          >
            {name} <kbd>{keys[0] === " " ? "Space" : keys[0]?.toUpperCase()}</kbd>
          </button>
        ))}
      </footer>
      <p className="station-foot muted">
        <span>{nameOf(recorder)}</span>
        {choice}
        {recorder.health?.calibration && (
          <button
            type="button"
            className="quiet"
            disabled={!canCheck}
            onClick={(event) => {
              if (event.detail > 0) event.currentTarget.blur();
              void send({ mark: "check" });
            }}
          >
            Check the calibration <kbd>C</kbd>
          </button>
        )}
        {!mayDrive && <span>You may look; driving a recorder takes the role operator.</span>}
        <button type="button" className="quiet" onClick={() => setAsksPedal(true)}>
          {pedal ? `Pedal: ${pedal}` : "Set up a pedal"} <kbd>P</kbd>
        </button>
      </p>
      {asksWhy && <RefuseDialog onClose={() => setAsksWhy(false)} send={send} />}
      {asksPedal && (
        <PedalDialog pedal={pedal} onPedal={setPedal} onClose={() => setAsksPedal(false)} />
      )}
    </section>
  );
}

interface Action {
  name: string;
  does: string;
  look: string;
  keys: string[];
  isOn: boolean;
  mark: TakeMark;
}

/** What the latest take says for the next one: a suggestion, and the rules of the protocol. */
function Feedback({ take }: { take: Take | undefined }) {
  const rules = take ? rulesOf(take) : null;
  if (take?.state !== "done" || (!take.suggestion && !rules)) return null;
  return (
    <p className="station-feedback">
      {take.suggestion && <b>Next time: {take.suggestion} </b>}
      {rules && (
        <span>
          {rules.words}
          {rules.broken.length > 0 &&
            `; broken: ${rules.broken.map(({ name }) => name).join(", ")}`}
          .
        </span>
      )}
    </p>
  );
}

function Lamps({ health, isThere }: { health: NonNullable<Recorder["health"]>; isThere: boolean }) {
  return (
    <ul className="station-lamps" aria-label="Lamps">
      {lampsOf(health, isThere).map(({ name, state, words }) => (
        <li key={name} className={`lamp-${state}`}>
          <span className="lamp" aria-hidden />
          <b>{name}</b>
          <span>{words}</span>
        </li>
      ))}
      {(health.triggers ?? []).map(({ name, skew_ms, missed }) => {
        const lost = Object.values(missed).reduce((sum, each) => sum + each, 0);
        return (
          <li key={name} className={lost ? "lamp-bad" : "lamp-good"}>
            <span className="lamp" aria-hidden />
            <b>Trigger {name}</b>
            <span>
              {lost
                ? `${lost} missed`
                : skew_ms === null
                  ? "waiting"
                  : `${skew_ms.toFixed(1)} ms apart`}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

/** Marks on their way to a recorder, one at a time, and why the last one was not taken. */
function useMarks(recorder: string) {
  const [refusal, setRefusal] = useState("");
  const [isBusy, setBusy] = useState(false);
  const send = async (mark: TakeMark) => {
    setBusy(true);
    try {
      const answer = await sendTakeMark(recorder, mark);
      setRefusal(answer.reason);
    } catch (error) {
      setRefusal(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return { send, refusal, isBusy };
}
