// The query, in the language of `corporeal ls`: completed as it is written, refused with the place.
import { type KeyboardEvent, type RefObject, useEffect, useId, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { checkQuery, getSuggestions } from "../../api/episodes";
import type { Completion, CompletionItem } from "../../api/schema";
import "./query_box.css";

const suggestMs = 80;
const applyMs = 450;

interface Props {
  query: string;
  error: Error | null;
  input: RefObject<HTMLInputElement | null>;
  onQuery: (query: string, isDone: boolean) => void;
  onHelp: () => void;
}

export function QueryBox({ query, error, input, onQuery, onHelp }: Props) {
  const list = useId();
  const [draft, setDraft] = useState(query);
  const [wrong, setWrong] = useState<Error | null>(null);
  const [offer, setOffer] = useState<Completion | null>(null);
  const [picked, setPicked] = useState(-1);
  const asking = useRef<AbortController | null>(null);
  useEffect(() => {
    // What was typed in the meantime comes first.
    setDraft((typed) => (typed.trim() === query ? typed : query));
    setWrong(null);
  }, [query]);

  const apply = (text: string, isDone: boolean) => {
    asking.current?.abort();
    const control = new AbortController();
    asking.current = control;
    checkQuery(text, control.signal).then(
      () => {
        setWrong(null);
        if (!control.signal.aborted) onQuery(text.trim(), isDone);
      },
      (reason: unknown) => {
        if (!control.signal.aborted)
          setWrong(reason instanceof Error ? reason : new Error(String(reason)));
      },
    );
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is typed is applied
  useEffect(() => {
    if (draft.trim() === query) return;
    const timer = setTimeout(() => apply(draft, false), applyMs);
    return () => {
      clearTimeout(timer);
      // An answer about fewer letters would take the later ones away.
      asking.current?.abort();
    };
  }, [draft]);
  const { suggest, stop } = useSuggestions(setOffer, setPicked);

  const put = (item: CompletionItem) => {
    const box = input.current;
    if (!offer || !box) return;
    const tail = item.text.endsWith(".") || item.text.endsWith("(") ? "" : " ";
    const text =
      draft.slice(0, offer.start) + item.text + tail + draft.slice(offer.end).trimStart();
    const cursor = offer.start + item.text.length + tail.length;
    // At once: the next letter may come before the next picture.
    flushSync(() => setDraft(text));
    box.setSelectionRange(cursor, cursor);
    suggest(text, cursor);
  };
  const clear = () => {
    asking.current?.abort();
    setDraft("");
    setWrong(null);
    onQuery("", true);
    input.current?.focus();
  };
  const press = (event: KeyboardEvent) => {
    const items = offer?.items ?? [];
    if (event.key === "ArrowDown" && items.length) setPicked((picked + 1) % items.length);
    else if (event.key === "ArrowUp" && items.length)
      setPicked(((picked + items.length) % (items.length + 1)) - 1);
    else if ((event.key === "Enter" || event.key === "Tab") && items[picked]) put(items[picked]);
    else if (event.key === "Enter") {
      stop();
      apply(draft, true);
    } else if (event.key === "Escape" && items.length) stop();
    else if (event.key === "Escape") input.current?.blur();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const isOffered = Boolean(offer?.items.length);
  // Half a word that can be completed is no mistake yet.
  const shown = isOffered ? null : (wrong ?? error);
  return (
    <div className="query-box" role="search">
      <div className="query-box-line">
        <input
          ref={input}
          type="text"
          role="combobox"
          aria-label="Query"
          aria-expanded={isOffered}
          aria-controls={list}
          aria-autocomplete="list"
          aria-activedescendant={picked >= 0 ? `${list}-${picked}` : undefined}
          aria-invalid={shown !== null}
          aria-describedby={`${list}-error`}
          placeholder="All episodes. Try: failure = fall"
          spellCheck={false}
          autoComplete="off"
          autoCapitalize="off"
          value={draft}
          onChange={(event) => {
            setDraft(event.target.value);
            suggest(event.target.value, event.target.selectionStart ?? event.target.value.length);
          }}
          onFocus={(event) => suggest(draft, event.target.selectionStart ?? draft.length)}
          onBlur={stop}
          onKeyDown={press}
        />
        {draft !== "" && (
          <button
            type="button"
            className="quiet query-box-clear"
            aria-label="Clear the query"
            onClick={clear}
          >
            ×
          </button>
        )}
        <button type="button" onClick={onHelp} aria-label="Help: how to write a query">
          Help
        </button>
      </div>
      {offer && isOffered && (
        <ul id={list} role="listbox" className="query-box-list" aria-label="Suggestions">
          {offer.items.map((item, place) => (
            <li
              key={item.text}
              id={`${list}-${place}`}
              role="option"
              aria-selected={place === picked}
              onPointerDown={(event) => {
                event.preventDefault();
                put(item);
              }}
            >
              <code>{item.text}</code> <span className="muted">{item.detail}</span>
            </li>
          ))}
        </ul>
      )}
      <p id={`${list}-error`} className="query-box-error" role="alert">
        {shown && <Wrong sentence={shown.message} query={wrong ? draft : query} />}
      </p>
    </div>
  );
}

/** The parser's own sentence, and the query with the place marked. */
function Wrong({ sentence, query }: { sentence: string; query: string }) {
  const place = Number(/at character (\d+)/.exec(sentence)?.[1] ?? 0) - 1;
  return (
    <>
      {place >= 0 && query.length < 300 && (
        <code className="query-box-where">
          {query.slice(0, place)}
          <mark>{query.slice(place, place + 1) || "…"}</mark>
          {query.slice(place + 1)}
        </code>
      )}
      {sentence}
    </>
  );
}

function useSuggestions(
  setOffer: (offer: Completion | null) => void,
  setPicked: (place: number) => void,
): { suggest: (text: string, cursor: number) => void; stop: () => void } {
  const timer = useRef(0);
  const asking = useRef<AbortController | null>(null);
  const cancel = () => {
    window.clearTimeout(timer.current);
    asking.current?.abort();
  };
  // An offer that comes after Enter would cover the answer.
  const stop = () => {
    cancel();
    setOffer(null);
  };
  const suggest = (text: string, cursor: number) => {
    cancel();
    const control = new AbortController();
    asking.current = control;
    timer.current = window.setTimeout(() => {
      getSuggestions(text, cursor, control.signal).then(
        (found) => {
          if (control.signal.aborted) return;
          setPicked(-1);
          if (document.activeElement?.matches(".query-box input")) setOffer(found);
        },
        () => control.signal.aborted || setOffer(null),
      );
    }, suggestMs);
  };
  return { suggest, stop };
}
