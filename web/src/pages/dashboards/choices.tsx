import { useEffect, useState } from "react";
import type { ChartChoice } from "../../api/schema";

interface Props {
  chart: string;
  choices: ChartChoice[];
  onChoose: (name: string, value: string) => void;
}

/** What the reader may change about one chart. */
export function Choices({ chart, choices, onChoose }: Props) {
  if (choices.length === 0) return null;
  return (
    <div className="choices">
      {choices.map((each) => (
        <label key={each.name} htmlFor={`${chart}-${each.name}`}>
          <span>{each.label}</span>
          {each.options.length ? (
            <select
              id={`${chart}-${each.name}`}
              value={each.value}
              onChange={(event) => onChoose(each.name, event.target.value)}
            >
              {each.options.map((option) => (
                <option key={option} value={option}>
                  {option.replaceAll("_", " ")}
                </option>
              ))}
            </select>
          ) : (
            <Amount
              id={`${chart}-${each.name}`}
              choice={each}
              onChoose={(value) => onChoose(each.name, value)}
            />
          )}
        </label>
      ))}
    </div>
  );
}

/** A number that counts once it is written to its end. */
function Amount({
  id,
  choice,
  onChoose,
}: {
  id: string;
  choice: ChartChoice;
  onChoose: (value: string) => void;
}) {
  const [text, setText] = useState(choice.value);
  useEffect(() => setText(choice.value), [choice.value]);
  const done = () => {
    if (text.trim() && text !== choice.value) onChoose(text.trim());
  };
  return (
    <>
      <input
        id={id}
        inputMode="decimal"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onBlur={done}
        onKeyDown={(event) => {
          if (event.key === "Enter") done();
        }}
      />
      <span className="muted">{choice.unit}</span>
    </>
  );
}
