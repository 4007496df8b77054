import { getEpisode } from "../../api/episode";
import { findByName } from "../../api/names";
import type { EpisodeDetail } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { Notice, Waiting } from "../../parts/notice";
import { Chooser } from "./chooser";
import { ManySides } from "./many_sides";
import { SideBySide } from "./side_by_side";
import { MOST_SIDES } from "./sides";
import { StartChooser } from "./start_chooser";

/** Episodes: /compare?a=ID&b=ID&align=phase, up to six more in `more`; else the choice of them. */
export default function ComparePage({ address }: { address: URL }) {
  const a = address.searchParams.get("a") ?? "";
  const b = address.searchParams.get("b") ?? "";
  const more = (address.searchParams.get("more") ?? "").split(",").filter(Boolean);
  if (!a) return <StartChooser />;
  if (b && more.length) {
    const ids = [...new Set([a, b, ...more])].slice(0, MOST_SIDES);
    return <Many ids={ids} key={ids.join()} address={address} />;
  }
  return <Pair a={a} b={b} key={`${a} ${b}`} address={address} />;
}

const wholeId = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

/** The episode of an id, or of a number, as people write it into an address. */
async function getNamed(name: string, signal: AbortSignal): Promise<EpisodeDetail> {
  return getEpisode(wholeId.test(name) ? name : (await findByName(name, signal)).id, signal);
}

function Many({ ids, address }: { ids: string[]; address: URL }) {
  const { value, error, again } = useAnswer(
    (signal) => Promise.all(ids.map((id) => getNamed(id, signal))),
    ids,
  );
  if (error) return <Notice error={error} again={again} />;
  if (!value) return <Waiting what="Opening the episodes" />;
  return <ManySides episodes={value} address={address} />;
}

function Pair({ a, b, address }: { a: string; b: string; address: URL }) {
  const first = useAnswer((signal) => getNamed(a, signal), [a]);
  const second = useAnswer((signal) => (b ? getNamed(b, signal) : Promise.resolve(null)), [b]);
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
