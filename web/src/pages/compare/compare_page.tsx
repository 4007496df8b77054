import { getEpisode } from "../../api/episode";
import { useAnswer } from "../../api/use_answer";
import { Notice, Waiting } from "../../parts/notice";
import { Chooser } from "./chooser";
import { SideBySide } from "./side_by_side";

/** Two episodes: /compare?a=ID&b=ID&align=phase; with only one, the choice of the other. */
export default function ComparePage({ address }: { address: URL }) {
  const a = address.searchParams.get("a") ?? "";
  const b = address.searchParams.get("b") ?? "";
  if (!a)
    return (
      <Notice error={new Error("Nothing to compare. Open an episode and choose: Compare with…")} />
    );
  return <Pair a={a} b={b} key={`${a} ${b}`} address={address} />;
}

function Pair({ a, b, address }: { a: string; b: string; address: URL }) {
  const first = useAnswer((signal) => getEpisode(a, signal), [a]);
  const second = useAnswer((signal) => (b ? getEpisode(b, signal) : Promise.resolve(null)), [b]);
  const error = first.error ?? second.error;
  const again = () => {
    first.again();
    second.again();
  };
  if (error) return <Notice error={error} again={again} />;
  if (!first.value || second.waiting) return <Waiting what="Opening the episodes" />;
  if (!second.value) return <Chooser episode={first.value} />;
  return <SideBySide a={first.value} b={second.value} address={address} />;
}
