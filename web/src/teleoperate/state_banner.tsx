import { adviceOf, STATE_WORDS } from "./host";
import type { LinkView } from "./link";

/** One word and one colour, to be read from three metres; below it, why and what to do. */
export function StateBanner({ view, isInHeadset }: { view: LinkView; isInHeadset: boolean }) {
  const { state, status, welcome, refusal } = view;
  const word = state
    ? STATE_WORDS[state.state]
    : status === "connecting"
      ? "CONNECTING"
      : "NO LINK";
  const advice = state
    ? adviceOf(state, isInHeadset ? "headset" : "desktop")
    : "The robot's side does not answer: it holds by itself. This page tries again.";
  return (
    <header className="state" data-state={state?.state ?? "lost"}>
      <p className="state-word" role="status">
        {word}
      </p>
      <div>
        <p className="state-advice">{advice}</p>
        <p className="state-who">
          {refusal ? (
            <span role="alert">{refusal}</span>
          ) : (
            welcome && `${welcome.robot} · ${welcome.task || "no task"} · ${driverOf(view)}`
          )}
        </p>
      </div>
    </header>
  );
}

function driverOf({ state, welcome }: LinkView): string {
  if (welcome?.role === "spectator")
    return "you look on, and may stop; once the page that drives is closed, reload to drive";
  return state?.driver === "policy" ? "the policy drives" : "you drive";
}
