// A reason that is being written is kept with its episode, in case the window closes.

export interface Draft {
  reason: string;
  text: string;
}

function nameOf(review: string, episode: string): string {
  return `studio:review:draft:${review}:${episode}`;
}

export function readDraft(review: string, episode: string): Draft {
  try {
    const found = JSON.parse(
      localStorage.getItem(nameOf(review, episode)) ?? "{}",
    ) as Partial<Draft>;
    return { reason: String(found.reason ?? ""), text: String(found.text ?? "") };
  } catch {
    return { reason: "", text: "" };
  }
}

export function keepDraft(review: string, episode: string, draft: Draft): void {
  localStorage.setItem(nameOf(review, episode), JSON.stringify(draft));
}

export function dropDraft(review: string, episode: string): void {
  localStorage.removeItem(nameOf(review, episode));
}
