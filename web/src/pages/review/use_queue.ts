import { useCallback, useEffect, useRef, useState } from "react";
import { getEpisode } from "../../api/episode";
import { skipItem, takeNext } from "../../api/review";
import type { DecidedItem, EpisodeDetail, ReviewTurn } from "../../api/schema";
import { useSession } from "../../api/session";
import { newKey, type Outbox, outboxOf } from "./outbox";
import { dropDraft } from "./reason_draft";

export interface Choice {
  decision: "accept" | "reject";
  reason?: string;
  text?: string;
  seconds: number;
  /** The share of the episode that was on the screen. */
  shown: number;
}

export interface Queue {
  turn: ReviewTurn | null;
  episode: EpisodeDetail | null;
  error: Error | null;
  /** Why the episode itself cannot be shown. */
  missing: Error | null;
  outbox: Outbox;
  /** A decision was made here and is not with the server yet. */
  isSending: boolean;
  last: DecidedItem | null;
  decide: (choice: Choice) => void;
  skip: () => void;
  undo: () => void;
  again: () => void;
}

/** The queue of a review: one episode at hand, the next one fetched ahead, decisions on their way. */
export function useQueue(name: string): Queue {
  const { name: who } = useSession();
  const outbox = outboxOf(who);
  const [turn, setTurn] = useState<ReviewTurn | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [last, setLast] = useState<DecidedItem | null>(null);
  const [isSending, setSending] = useState(false);
  const turnRef = useRef(turn);
  turnRef.current = turn;
  const isGone = useRef(false);
  const asked = useRef(0);
  const { episode, missing, prefetch } = useEpisode(turn?.item?.episode ?? null);

  const advance = useCallback(async () => {
    const decided = await outbox.flush();
    if (isGone.current || outbox.state.waiting.length) return;
    asked.current += 1;
    const mine = asked.current;
    try {
      const next = await takeNext(name, []);
      // An answer that was overtaken would show an episode that is decided.
      if (isGone.current || mine !== asked.current) return;
      setTurn(next);
      setError(null);
      setSending(false);
      if (decided) setLast(decided);
      if (next.after) prefetch(next.after);
    } catch (reason) {
      if (isGone.current || mine !== asked.current) return;
      // With an episode on the screen the frame's banner says that the server is away.
      if (!turnRef.current) setError(asError(reason));
      else setTimeout(() => void advance(), 2000);
    }
  }, [name, outbox, prefetch]);

  useEffect(() => {
    isGone.current = false;
    void advance();
    const back = (event: Event) => {
      if ((event as CustomEvent<boolean>).detail) void advance();
    };
    // Decisions that were sent by the outbox' own retries free the way to the next episode.
    let before = outbox.state.waiting.length;
    const stop = outbox.subscribe(() => {
      const now = outbox.state.waiting.length;
      if (before > 0 && now === 0) void advance();
      before = now;
    });
    window.addEventListener("studio:reachable", back);
    return () => {
      isGone.current = true;
      stop();
      window.removeEventListener("studio:reachable", back);
    };
  }, [advance, outbox]);

  const decide = (choice: Choice) => {
    const item = turnRef.current?.item;
    if (!item || isSending) return;
    setSending(true);
    setLast(null);
    outbox.add({
      kind: "decision",
      review: name,
      episode: item.episode,
      body: { ...choice, key: newKey(), version: item.version },
    });
    dropDraft(name, item.episode);
    void advance();
  };
  const skip = () => {
    const item = turnRef.current?.item;
    if (!item || isSending) return;
    setLast(null);
    skipItem(item).then(advance, (reason) => setError(asError(reason)));
  };
  const undo = () => {
    const waiting = outbox.state.waiting.filter(({ review }) => review === name);
    const target = waiting.length
      ? waiting[waiting.length - 1]?.episode
      : turnRef.current?.recent[0]?.episode;
    if (!target || waiting[waiting.length - 1]?.kind === "undo") return;
    setLast(null);
    outbox.add({ kind: "undo", review: name, episode: target, body: { key: newKey() } });
    void advance();
  };
  const again = () => {
    setError(null);
    void advance();
  };
  return { turn, episode, error, missing, outbox, isSending, last, decide, skip, undo, again };
}

/** The facts of the episode at hand; those of the next one are fetched while this one plays. */
function useEpisode(id: string | null) {
  const known = useRef(new Map<string, Promise<EpisodeDetail>>());
  const [episode, setEpisode] = useState<EpisodeDetail | null>(null);
  const [missing, setMissing] = useState<Error | null>(null);
  const prefetch = useCallback((wanted: string): Promise<EpisodeDetail> => {
    const found = known.current.get(wanted) ?? getEpisode(wanted);
    known.current.delete(wanted);
    known.current.set(wanted, found);
    for (const old of known.current.keys()) if (known.current.size > 4) known.current.delete(old);
    // What failed ahead of time is asked for again when it is needed.
    found.catch(() => known.current.delete(wanted));
    return found;
  }, []);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (!missing) return;
    const back = (event: Event) => {
      if ((event as CustomEvent<boolean>).detail) setTries((n) => n + 1);
    };
    window.addEventListener("studio:reachable", back);
    return () => window.removeEventListener("studio:reachable", back);
  }, [missing]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: every try asks again
  useEffect(() => {
    setMissing(null);
    if (!id) return;
    let isOld = false;
    prefetch(id).then(
      (found) => isOld || setEpisode(found),
      (reason: unknown) => isOld || setMissing(asError(reason)),
    );
    return () => {
      isOld = true;
    };
  }, [id, prefetch, tries]);
  return { episode, missing, prefetch };
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
