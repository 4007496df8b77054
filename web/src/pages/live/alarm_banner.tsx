import { useEffect, useState } from "react";
import { type Alarm, stopped, withoutNumbers } from "./health";
import { useSiren } from "./use_siren";

/** Everything that is wrong, where nobody can miss it: red, in the title of the window, and heard. */
export function AlarmBanner({ alarms }: { alarms: Alarm[] }) {
  const [heard, setHeard] = useState<ReadonlySet<string>>(new Set());
  const loud = alarms.filter((alarm) => alarm.isLoud);
  const fresh = loud.filter((alarm) => !heard.has(alarm.key));
  const sound = useSiren(fresh.length > 0);
  useTitle(loud[0]?.sentence);
  const keys = loud.map((alarm) => alarm.key).join("\n");
  useEffect(() => {
    // An alarm that has ended and comes again is a new one.
    setHeard((before) => new Set([...before].filter((key) => keys.split("\n").includes(key))));
  }, [keys]);
  if (!alarms.length) return <SoundButton {...sound} />;
  return (
    <div className="alarm">
      {loud.length > 0 && (
        <div className="alarm-loud">
          <p className="alarm-spoken" role="alert">
            {[...new Set(loud.map((alarm) => stopped(withoutNumbers(alarm.sentence))))].join(" ")}
          </p>
          <ul aria-live="off">
            {loud.map((alarm) => (
              <li key={alarm.key}>
                <strong>{stopped(alarm.sentence)}</strong>
                <span>{alarm.todo}</span>
              </li>
            ))}
          </ul>
          <div className="alarm-buttons">
            {fresh.length > 0 && !sound.isMuted && (
              <button
                type="button"
                onClick={() => setHeard(new Set(loud.map((alarm) => alarm.key)))}
              >
                Acknowledge
              </button>
            )}
            <SoundButton {...sound} />
          </div>
        </div>
      )}
      {alarms.length > loud.length && (
        <ul className="alarm-quiet" role="status">
          {alarms
            .filter((alarm) => !alarm.isLoud)
            .map((alarm) => (
              <li key={alarm.key}>
                {stopped(alarm.sentence)} <span className="muted">{alarm.todo}</span>
              </li>
            ))}
        </ul>
      )}
    </div>
  );
}

function SoundButton({ isMuted, isAllowed, setMuted }: ReturnType<typeof useSiren>) {
  if (!isMuted && !isAllowed)
    return (
      <p className="alarm-hint">Alarms are heard once you have clicked anywhere on this page.</p>
    );
  return (
    <button
      type="button"
      className="alarm-sound"
      aria-pressed={isMuted}
      onClick={() => setMuted(!isMuted)}
      title={isMuted ? "Sound is off" : "Sound is on"}
    >
      {isMuted ? "Turn the sound on" : "Mute"}
    </button>
  );
}

/** The title of the window flashes, so that it is seen among other windows. */
function useTitle(sentence: string | undefined): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: numbers in the sentence change without a new alarm
  useEffect(() => {
    const usual = "Live · Corporeal Studio";
    document.title = usual;
    if (!sentence) return;
    let isOn = true;
    const flash = () => {
      document.title = isOn ? `⚠ ${sentence}` : "██ ALARM ██";
      isOn = !isOn;
    };
    flash();
    const timer = setInterval(flash, 1000);
    return () => {
      clearInterval(timer);
      document.title = usual;
    };
    // The sentence changes with every number in it; the flashing does not begin anew.
  }, [sentence?.replace(/[\d.,]+/g, "#")]);
}
