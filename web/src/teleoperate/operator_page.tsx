import { useEffect, useState, useSyncExternalStore } from "react";
import { HelpDialog } from "../parts/help_dialog";
import { useShortcuts } from "../parts/shortcuts";
import { ThemeButton } from "../parts/theme_button";
import { Cameras } from "./cameras";
import { HandControls } from "./hand_controls";
import type { Command } from "./input";
import { LatencyLine } from "./latency_line";
import type { Operator } from "./operator";
import "./operator_page.css";
import { RecordingBar } from "./recording_bar";
import { RobotView } from "./robot_view";
import { StateBanner } from "./state_banner";
import { Ways } from "./ways";

const keys: { keys: string[]; does: string; command: Command }[] = [
  { keys: ["r"], does: "Reset a stop", command: "reset" },
  { keys: ["Enter"], does: "Engage: the robot follows without a key held", command: "engage" },
  { keys: ["h"], does: "Hold: the robot comes to rest", command: "hold" },
  { keys: ["x"], does: "Discard this demonstration", command: "discard" },
  { keys: ["y"], does: "The last demonstration succeeded", command: "success" },
  { keys: ["n"], does: "The last demonstration failed", command: "failure" },
];

/** What `Keyboard` does while a key is down; listed here, heard there. */
const held: { keys: string[]; does: string }[] = [
  { keys: ["Space"], does: "Clutch: while held, the robot's hand follows" },
  { keys: ["Arrows"], does: "The hand: left, right, ahead, back; with Shift it turns" },
  { keys: ["PageUp", "PageDown"], does: "The hand: up, down" },
  { keys: ["G key"], does: "Close or open the hand" },
  { keys: ["1 key", "2 key"], does: "Move the left, the right hand" },
  { keys: ["W A S D"], does: "Walk" },
  { keys: ["Q E"], does: "Turn left, right" },
  { keys: ["Esc"], does: "Stop, always" },
];

/** The operator's page: state first, stop always, the robot and what it sees between them. */
export function OperatorPage({ operator }: { operator: Operator }) {
  const { link } = operator;
  const view = useSyncExternalStore(link.subscribe, link.read);
  const isInHeadset = useSyncExternalStore(operator.subscribe, operator.isInHeadset);
  const [help, setHelp] = useState(false);
  const { state, welcome } = view;
  useShortcuts("Robot", [
    ...keys.map(({ command, ...key }) => ({ ...key, run: () => link.command(command, "key") })),
    { keys: ["t"], does: "Start or end a demonstration", run: operator.take },
    { keys: ["?"], does: "List the keys", run: () => setHelp(true) },
  ]);
  useShortcuts(
    "Hands and walking",
    held.map((each) => ({ ...each, run: () => {} })),
  );
  useEffect(() => {
    window.addEventListener("click", letGoOfButton);
    return () => window.removeEventListener("click", letGoOfButton);
  }, []);
  useEffect(() => {
    document.title = `${state?.state ?? "no link"} · Corporeal teleoperation`;
  }, [state?.state]);
  return (
    <div className="operator">
      <StateBanner view={view} isInHeadset={isInHeadset} />
      <button
        type="button"
        className="stop"
        onClick={() => link.command("stop", "button on the page")}
      >
        STOP <kbd>Esc</kbd>
      </button>
      <div className="operator-view">
        {isInHeadset ? (
          // Nobody looks here, and every picture would cost the headset one.
          <p className="in-headset">The headset shows cameras and panel.</p>
        ) : (
          <>
            <RobotView operator={operator} state={state} welcome={welcome} />
            <Cameras link={link} names={welcome?.cameras ?? []} />
          </>
        )}
      </div>
      <aside className="operator-side">
        <Commands operator={operator} />
        <RecordingBar operator={operator} welcome={welcome} recording={state?.recording ?? null} />
        <HandControls operator={operator} state={state} />
        <HeadsetEntry operator={operator} isInHeadset={isInHeadset} />
        <Ways ways={welcome?.ways ?? []} />
      </aside>
      <footer className="operator-foot">
        <LatencyLine view={view} />
        <span>
          <button type="button" className="quiet" onClick={() => setHelp(true)}>
            Keys <kbd>?</kbd>
          </button>
          <ThemeButton />
        </span>
      </footer>
      {help && <HelpDialog onClose={() => setHelp(false)} />}
    </div>
  );
}

/** A button that was clicked keeps no focus: Enter engages, and does not press it again. */
function letGoOfButton(event: MouseEvent): void {
  if (event.detail > 0 && document.activeElement instanceof HTMLButtonElement)
    document.activeElement.blur();
}

function Commands({ operator }: { operator: Operator }) {
  const { link } = operator;
  const { state, welcome } = useSyncExternalStore(link.subscribe, link.read);
  const at = state?.state;
  const give = (command: Command) => () => link.command(command, "button on the page");
  const isDown = at === "kneeling";
  return (
    <div className="commands" role="group" aria-label="Robot">
      {at === "stopped" ? (
        <button type="button" className="primary" onClick={give("reset")}>
          Reset <kbd>R</kbd>
        </button>
      ) : (
        <button
          type="button"
          className="primary"
          disabled={!state || isDown}
          onClick={give("engage")}
        >
          Engage <kbd>Enter</kbd>
        </button>
      )}
      <button type="button" disabled={!state || at === "stopped"} onClick={give("hold")}>
        Hold <kbd>H</kbd>
      </button>
      {welcome?.kneels !== false && (
        <button
          type="button"
          disabled={!state || at === "stopped"}
          onClick={give(isDown ? "stand" : "kneel")}
        >
          {isDown ? "Stand up" : "Kneel"}
        </button>
      )}
      <button type="button" disabled={!state} onClick={give("recenter")}>
        Recentre
      </button>
      {welcome?.policy && (
        <button
          type="button"
          disabled={!state}
          onClick={give(state?.driver === "policy" ? "human" : "policy")}
        >
          {state?.driver === "policy" ? "Take over" : "Hand over to the policy"}
        </button>
      )}
      {welcome?.kneels === false && (
        <p className="muted">This robot's own controller keeps its legs: it does not kneel here.</p>
      )}
    </div>
  );
}

function HeadsetEntry({ operator, isInHeadset }: { operator: Operator; isInHeadset: boolean }) {
  const [isThere, setThere] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  useEffect(() => {
    void navigator.xr?.isSessionSupported("immersive-vr").then(setThere, () => setThere(false));
  }, []);
  const enter = () => {
    setTrouble(null);
    operator.enterHeadset().catch((error: unknown) => {
      setTrouble(error instanceof Error ? error.message : String(error));
    });
  };
  if (!isThere) return null;
  return (
    <div>
      <button type="button" className="primary enter" disabled={isInHeadset} onClick={enter}>
        {isInHeadset ? "The headset drives" : "Enter the headset"}
      </button>
      {trouble && <p role="alert">The headset cannot be used: {trouble}</p>}
    </div>
  );
}
