import { useEffect, useState } from "react";

/** Copy a text; what is said about it disappears after a while. */
export function useCopied(): [string, (text: string) => void] {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (!said) return;
    const timer = setTimeout(() => setSaid(""), 4000);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = (text: string) => {
    // Browsers have a clipboard only where the connection is safe; the address bar holds the link then.
    const isCopied =
      navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"));
    isCopied.then(
      () => setSaid("Link copied"),
      () => setSaid("Copy the link from the address bar"),
    );
  };
  return [said, copy];
}
