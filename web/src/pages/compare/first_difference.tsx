import { useEffect, useState } from "react";
import { type Alignment, getFirstDifference } from "../../api/comparison";
import type { FirstDifference } from "../../api/schema";
import { useShortcuts } from "../../parts/shortcuts";
import "./first_difference.css";

interface FirstDifferenceProps {
  a: string;
  b: string;
  align: Alignment;
  /** Told the moment, in the time of A, to be marked and gone to. */
  onFound: (timeNs: number | null) => void;
}

/** Where B first leaves A by more than noise: a button, and the sentence with its numbers. */
export function FirstDifferenceFinder({ a, b, align, onFound }: FirstDifferenceProps) {
  const [found, setFound] = useState<FirstDifference | null>(null);
  const [said, setSaid] = useState("");
  // biome-ignore lint/correctness/useExhaustiveDependencies: another alignment is another question
  useEffect(() => {
    setFound(null);
    setSaid("");
    onFound(null);
  }, [align, onFound]);
  const find = async () => {
    setSaid("Looking…");
    try {
      const answer = found ?? (await getFirstDifference(a, b, align));
      setFound(answer);
      setSaid(answer.sentence);
      onFound(answer.time_a_ns);
    } catch (error) {
      setSaid(error instanceof Error ? error.message : String(error));
    }
  };
  useShortcuts("Compare", [
    { keys: ["d"], does: "Go to the first moment at which they differ", run: () => void find() },
  ]);
  return (
    <>
      <button type="button" onClick={() => void find()}>
        First difference <kbd>d</kbd>
      </button>
      <p className="first-difference" role="status">
        {said}
      </p>
    </>
  );
}
