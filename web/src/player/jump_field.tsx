import { type KeyboardEvent, useRef, useState } from "react";

export interface JumpFieldProps {
  label: string;
  shown: string;
  width: string;
  /** Whether it was understood. */
  onJump: (text: string) => boolean;
}

/** Shows where you are; typing something else and Enter goes there. */
export function JumpField({ label, shown, width, onJump }: JumpFieldProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const [isWrong, setWrong] = useState(false);
  const element = useRef<HTMLInputElement>(null);
  const leave = () => {
    setTyped(null);
    setWrong(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") element.current?.blur();
    if (event.key !== "Enter") return;
    if (typed === null || onJump(typed)) {
      leave();
      element.current?.blur();
    } else setWrong(true);
  };
  return (
    <input
      ref={element}
      className="transport-field num"
      style={{ width }}
      aria-label={label}
      title={`${label}: type and press Enter`}
      aria-invalid={isWrong}
      autoComplete="off"
      spellCheck={false}
      value={typed ?? shown}
      onFocus={(event) => {
        setTyped(shown);
        const field = event.currentTarget;
        requestAnimationFrame(() => field.select());
      }}
      onChange={(event) => {
        setTyped(event.target.value);
        setWrong(false);
      }}
      onKeyDown={onKeyDown}
      onBlur={leave}
    />
  );
}
