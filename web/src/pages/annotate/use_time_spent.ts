// Time at work, measured honestly: only while the window is seen and somebody does something.
import { useEffect, useRef, useState } from "react";
import { sendSeconds } from "../../api/annotation";

export const idleMs = 60_000;
const tickMs = 1000;
const sendEveryS = 20;
const mostAtOnceS = 600;

/** The part of a tick that counts as work. */
export function worked(
  nowMs: number,
  lastTickMs: number,
  lastSignMs: number,
  isHidden: boolean,
): number {
  if (isHidden || nowMs - lastSignMs > idleMs) return 0;
  // A computer that slept has not worked.
  return Math.min(nowMs - lastTickMs, 2 * tickMs) / 1000;
}

function nameOf(task: string): string {
  return `studio:annotate-seconds:${task}`;
}

function kept(task: string): number {
  try {
    const found = Number(localStorage.getItem(nameOf(task)));
    return Number.isFinite(found) && found > 0 ? Math.min(found, mostAtOnceS) : 0;
  } catch {
    return 0;
  }
}

function keep(task: string, seconds: number): void {
  try {
    localStorage.setItem(nameOf(task), seconds.toFixed(1));
  } catch {
    // Less time is shown than was spent, which wrongs nobody's work.
  }
}

/** Seconds spent on a task so far; `isIdle` when the watch stands still. */
export function useTimeSpent(
  task: string,
  before: number,
  isOn: boolean,
): { seconds: number; isIdle: boolean } {
  const [shown, setShown] = useState({ seconds: before + kept(task), isIdle: false });
  const sending = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: before is where the count begins
  useEffect(() => {
    if (!isOn) return;
    let [tick, sign, total] = [performance.now(), performance.now(), before];
    const notice = () => {
      sign = performance.now();
    };
    const send = async () => {
      const seconds = kept(task);
      if (sending.current || seconds < 1) return;
      sending.current = true;
      try {
        await sendSeconds(task, seconds);
        total += seconds;
        keep(task, Math.max(0, kept(task) - seconds));
      } catch {
        // It is kept, and sent the next time.
      } finally {
        sending.current = false;
      }
    };
    const timer = setInterval(() => {
      const now = performance.now();
      const spent = worked(now, tick, sign, document.hidden);
      tick = now;
      if (spent) keep(task, kept(task) + spent);
      if (kept(task) >= sendEveryS) void send();
      setShown({ seconds: total + kept(task), isIdle: spent === 0 });
    }, tickMs);
    const signs = ["pointerdown", "pointermove", "keydown", "wheel"] as const;
    for (const each of signs) window.addEventListener(each, notice, { passive: true });
    return () => {
      clearInterval(timer);
      for (const each of signs) window.removeEventListener(each, notice);
      void send();
    };
  }, [task, isOn]);
  return shown;
}
