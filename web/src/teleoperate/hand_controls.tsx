import { useSyncExternalStore } from "react";
import { type HostState, NEAR_M, plainName, TOO_NEAR_M } from "./host";
import { SIDES, type Side } from "./input";
import type { Operator } from "./operator";
import { hidOf } from "./space_mouse";

/** Both hands: which one follows, what it holds, and buttons for those who have no keys. */
export function HandControls({ operator, state }: { operator: Operator; state: HostState | null }) {
  const { hands } = operator;
  useSyncExternalStore(hands.subscribe, hands.summary);
  return (
    <section className="hands card" aria-label="Hands">
      {SIDES.map((side) => (
        <HandCard key={side} operator={operator} side={side} state={state} />
      ))}
      {state && state.limits.length > 0 && (
        <p className="hands-note warn">At a limit: {state.limits.map(plainName).join(", ")}</p>
      )}
      {state?.near
        .filter(([, , far]) => far < NEAR_M)
        .slice(0, 2)
        .map(([first, second, far]) => (
          <p key={`${first} ${second}`} className={`hands-note ${far < TOO_NEAR_M ? "bad" : ""}`}>
            {plainName(first)} and {plainName(second)}: {(1000 * far).toFixed(0)} mm apart
          </p>
        ))}
      {hidOf() && (
        <button
          type="button"
          className="quiet"
          onClick={() => void operator.spaceMouse.request().catch(() => false)}
        >
          Use a SpaceMouse
        </button>
      )}
    </section>
  );
}

function HandCard({
  operator,
  side,
  state,
}: {
  operator: Operator;
  side: Side;
  state: HostState | null;
}) {
  const { hands } = operator;
  const hand = hands[side];
  const told = state?.hands[side];
  const follows = state?.engaged[side] === true;
  const holder = `${side} button`;
  return (
    <div className="hand" data-active={hands.active === side}>
      <h3>
        <button
          type="button"
          aria-pressed={hands.active === side}
          onClick={() => hands.choose(side)}
        >
          {side} hand <kbd>{side === "left" ? "1" : "2"}</kbd>
        </button>
        <span className={follows ? "chip accepted" : "chip"}>
          {follows ? "follows" : "at rest"}
        </span>
      </h3>
      <dl>
        <Fact
          name="reach"
          value={told?.reach == null ? "–" : `${(100 * told.reach).toFixed(0)} %`}
          isBad={(told?.reach ?? 0) > 1}
        />
        <Fact
          name="off goal"
          value={told?.error_m == null ? "–" : `${(1000 * told.error_m).toFixed(0)} mm`}
          isBad={(told?.error_m ?? 0) > 0.05}
        />
        <Fact
          name="open"
          value={told?.opening == null ? "–" : `${(100 * told.opening).toFixed(0)} %`}
          isBad={false}
        />
      </dl>
      <div className="commands">
        <button
          type="button"
          className="clutch"
          aria-pressed={hand.isHeld}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            hands.choose(side);
            hands.hold(holder, side);
          }}
          onPointerUp={() => hands.letGo(holder)}
          onPointerCancel={() => hands.letGo(holder)}
          onLostPointerCapture={() => hands.letGo(holder)}
          onContextMenu={(event) => event.preventDefault()}
        >
          Clutch
        </button>
        <button type="button" aria-pressed={hand.grip > 0.5} onClick={() => hands.toggleGrip(side)}>
          {hand.grip > 0.5 ? "Open" : "Close"} <kbd>G</kbd>
        </button>
      </div>
    </div>
  );
}

function Fact({ name, value, isBad }: { name: string; value: string; isBad: boolean }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className={isBad ? "num bad" : "num"}>{value}</dd>
    </div>
  );
}
