import { useRef, useState } from "react";
import "./copy_line.css";

/** A line of text and a button that copies it; without a clipboard it is selected. */
export function CopyLine({ label, text }: { label: string; text: string }) {
  const [copied, setCopied] = useState(false);
  const line = useRef<HTMLInputElement>(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), 2000);
    } catch {
      // Browsers have no clipboard for pages without TLS from other machines.
      line.current?.select();
    }
  };
  return (
    <div className="copy-line">
      <input
        ref={line}
        readOnly
        aria-label={label}
        value={text}
        onFocus={(event) => event.target.select()}
      />
      <button type="button" aria-label={`Copy: ${label}`} onClick={() => void copy()}>
        {copied ? "Copied" : "Copy"}
      </button>
    </div>
  );
}
