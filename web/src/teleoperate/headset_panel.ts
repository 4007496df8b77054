// What the headset shows in words: a canvas with state, hint, recording and buttons.
import type { HostState, Welcome } from "./host";
import { adviceOf, plainName, STATE_WORDS, TOO_NEAR_M } from "./host";
import { type Command, SIDES } from "./input";

export const PANEL = { width: 1024, height: 640 };

export interface PanelButton {
  command: Command | "take";
  label: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

const rowHeight = 84;

/** What the panel offers now: only what this robot can do, and what a press would come to. */
export function buttonsOf(state: HostState | null, welcome: Welcome | null): PanelButton[] {
  const { recording, driver } = state ?? {};
  const counts = recording?.state === "countdown";
  const runs = counts || recording?.state === "recording";
  const take = counts ? "Cancel" : runs ? "End" : "Start";
  const last: [PanelButton["command"], string][] = [];
  if (welcome?.kneels !== false)
    last.push(state?.state === "kneeling" ? ["stand", "Stand up"] : ["kneel", "Kneel"]);
  if (welcome?.policy)
    last.push(driver === "policy" ? ["human", "Take over"] : ["policy", "Hand over to the policy"]);
  // With nothing between, stop has that room, too.
  const top = last.length ? 526 : 434;
  return [
    ...row(
      250,
      ["engage", "Engage"],
      ["hold", "Hold"],
      ["reset", "Reset"],
      ["recenter", "Recentre"],
    ),
    ...row(
      342,
      ["take", take],
      ["success", "Success"],
      ["failure", "Failure"],
      ["discard", "Discard"],
    ),
    ...row(434, ...last),
    // Stop is the largest, and at the bottom, where a hand is.
    {
      command: "stop",
      label: "STOP",
      x: 16,
      y: top,
      width: PANEL.width - 44,
      height: PANEL.height - 10 - top,
    },
  ];
}

function row(y: number, ...names: [PanelButton["command"], string][]): PanelButton[] {
  return names.map(([command, label], at) => {
    const width = (PANEL.width - 32) / names.length;
    return { command, label, x: 16 + at * width, y, width: width - 12, height: rowHeight };
  });
}

/** Colours of their own: a headset has no theme, and the panel hangs before anything. */
export const STATE_COLOURS: Record<HostState["state"] | "lost", string> = {
  inert: "#4a6fa5",
  engaged: "#1d7443",
  hold: "#b57600",
  stopped: "#c5221f",
  kneeling: "#6b4fa0",
  lost: "#55585f",
};

/** The button at a place of the panel, from 0 to 1 to the right and up; null between them. */
export function buttonAt(buttons: PanelButton[], u: number, v: number): PanelButton | null {
  const [x, y] = [u * PANEL.width, (1 - v) * PANEL.height];
  return (
    buttons.find((b) => x >= b.x && x <= b.x + b.width && y >= b.y && y <= b.y + b.height) ?? null
  );
}

export function drawPanel(
  ink: CanvasRenderingContext2D,
  state: HostState | null,
  welcome: Welcome | null,
  pointed: PanelButton | null,
): void {
  ink.fillStyle = "#14161a";
  ink.fillRect(0, 0, PANEL.width, PANEL.height);
  ink.fillStyle = STATE_COLOURS[state?.state ?? "lost"];
  ink.fillRect(0, 0, PANEL.width, 130);
  ink.fillStyle = "#ffffff";
  ink.textBaseline = "middle";
  ink.textAlign = "left";
  ink.font = "700 92px sans-serif";
  ink.fillText(state ? STATE_WORDS[state.state] : "NO LINK", 24, 70);
  ink.font = "34px sans-serif";
  const advice = state ? adviceOf(state, "headset") : "The robot's side does not answer.";
  ink.fillText(advice, 24, 165, PANEL.width - 48);
  const trouble = troubleText(state);
  ink.fillStyle = trouble ? "#ffcf5c" : "#ffffff";
  ink.fillText(
    trouble || `${recordingText(state)}${state?.recording?.card ?? welcome?.instruction ?? ""}`,
    24,
    220,
    PANEL.width - 48,
  );
  for (const button of buttonsOf(state, welcome)) {
    ink.fillStyle =
      button.command === "stop"
        ? "#c5221f"
        : button.command === pointed?.command
          ? "#5b6472"
          : "#30343c";
    ink.fillRect(button.x, button.y, button.width, button.height);
    ink.fillStyle = "#ffffff";
    ink.textAlign = "center";
    ink.font = `600 ${button.command === "stop" ? 72 : 38}px sans-serif`;
    ink.fillText(
      button.label,
      button.x + button.width / 2,
      button.y + button.height / 2 + 3,
      button.width - 16,
    );
  }
}

/** What keeps the robot's hands from where the operator's are. */
function troubleText(state: HostState | null): string {
  const far = SIDES.filter((side) => (state?.hands[side]?.reach ?? 0) > 1);
  if (far.length) return `Out of reach: ${far.join(", ")} hand.`;
  const near = state?.near.find(([, , metres]) => metres < TOO_NEAR_M);
  if (near)
    return `${plainName(near[0])} and ${plainName(near[1])}: ${(1000 * near[2]).toFixed(0)} mm.`;
  if (state?.limits.length) return `At a limit: ${state.limits.map(plainName).join(", ")}.`;
  return "";
}

function recordingText(state: HostState | null): string {
  const recording = state?.recording;
  if (recording?.state === "countdown") return `${Math.ceil(recording.countdown_s ?? 0)} … `;
  if (recording?.state === "recording") return `● ${(recording.elapsed_s ?? 0).toFixed(0)} s  `;
  if (recording?.last?.verdict) return `Last take: ${recording.last.verdict}.  `;
  return "";
}
