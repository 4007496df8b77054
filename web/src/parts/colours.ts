// Colours of drawn things, from the same tokens as the page, in the theme of the moment.

/** The value of a CSS variable such as "--ink". */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Colours for lines that must be told apart; the same place always has the same colour. */
export function lineColour(place: number): string {
  return colour(`--line-${(place % 10) + 1}`);
}

/** Call when the theme changes, by the button or by the system. */
export function onTheme(listener: () => void): () => void {
  const query = window.matchMedia("(prefers-color-scheme: dark)");
  window.addEventListener("studio:theme", listener);
  query.addEventListener("change", listener);
  return () => {
    window.removeEventListener("studio:theme", listener);
    query.removeEventListener("change", listener);
  };
}
