import { useEffect, useState } from "react";
import type { Segment } from "../../api/schema";
import { choicesOf, isUnsaid, unitOf, words } from "./label_keys";
import { say } from "./segments";
import type { Bench } from "./use_bench";

/** The attribute that the number keys answer: the one asked for, else the first that is not said. */
export function askedOf(
  bench: Bench,
  names: readonly string[],
  asked: string | null,
): string | null {
  if (asked && names.includes(asked)) return asked;
  return names.find((name) => isUnsaid(bench.segment?.attributes[name])) ?? names[0] ?? null;
}

export interface AttributesProps {
  bench: Bench;
  segment: Segment;
  names: readonly string[];
  asked: string | null;
  onAsk: (attribute: string) => void;
}

/** What must be said of a segment; the number keys answer the question that is marked. */
export function Attributes({ bench, segment, names, asked, onAsk }: AttributesProps) {
  const now = askedOf(bench, names, asked);
  return (
    <section className="side-part" aria-label="What is asked of it">
      {names.map((name) => (
        <Attribute
          key={`${segment.id} ${name}`}
          bench={bench}
          segment={segment}
          name={name}
          isAsked={name === now}
          onAsk={() => onAsk(name)}
        />
      ))}
    </section>
  );
}

function Attribute({
  bench,
  segment,
  name,
  isAsked,
  onAsk,
}: {
  bench: Bench;
  segment: Segment;
  name: string;
  isAsked: boolean;
  onAsk: () => void;
}) {
  const choices = choicesOf(bench.taxonomy, name);
  const value = segment.attributes[name];
  const unit = unitOf(bench.taxonomy, name);
  const set = (next: string | null) => bench.do("say", say(segment, name, inUnit(next, unit)));
  return (
    <div
      className="attribute"
      data-asked={isAsked}
      data-unsaid={isUnsaid(value)}
      data-proposed={!segment.confirmed && !isUnsaid(value)}
      data-attribute={name}
      role="group"
      aria-label={words(name)}
      onFocus={onAsk}
    >
      <span className="attribute-name">
        {words(name)}
        {unit && ` (${unit})`}
      </span>
      {choices.length > 0 ? (
        <span className="attribute-choices">
          {choices.map((choice, place) => (
            <button
              key={choice.name}
              type="button"
              aria-pressed={value === choice.name}
              disabled={!bench.canEdit}
              title={choice.definition}
              onClick={() => set(value === choice.name ? null : choice.name)}
            >
              {isAsked && place < 9 && <kbd>{place + 1}</kbd>}
              {words(choice.name)}
            </button>
          ))}
        </span>
      ) : (
        <FreeText
          bench={bench}
          name={name}
          value={isUnsaid(value) ? "" : String(value)}
          isAsked={isAsked}
          onSet={(text) => set(text.trim() || null)}
        />
      )}
    </div>
  );
}

/** A number where one is meant; what is none stays as it was written, and the server says so. */
function inUnit(text: string | null, unit: string | null): string | number | null {
  const number = Number(text?.replace(",", "."));
  return text !== null && unit !== null && Number.isFinite(number) ? number : text;
}

/** What was said of this elsewhere in the episode: most often it is the same again. */
export function saidBefore(bench: Bench, name: string): string[] {
  const said = bench.content.segments
    .map((each) => each.attributes[name])
    .filter((value) => !isUnsaid(value));
  return [...new Set(said.map(String))].slice(0, 9);
}

interface FreeTextProps {
  bench: Bench;
  name: string;
  value: string;
  isAsked: boolean;
  onSet: (text: string) => void;
}

function FreeText({ bench, name, value, isAsked, onSet }: FreeTextProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  return (
    <span className="attribute-choices">
      {saidBefore(bench, name).map((each, place) => (
        <button
          key={each}
          type="button"
          aria-pressed={value === each}
          disabled={!bench.canEdit}
          onClick={() => onSet(each)}
        >
          {isAsked && <kbd>{place + 1}</kbd>}
          {words(each)}
        </button>
      ))}
      <input
        aria-label={words(name)}
        placeholder="type a name"
        value={text}
        maxLength={200}
        disabled={!bench.canEdit}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => text !== value && onSet(text)}
        onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
      />
    </span>
  );
}
