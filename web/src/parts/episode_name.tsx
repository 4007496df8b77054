import { useEffect, useState } from "react";
import { episodeName, findByName } from "../api/names";
import { useAnswer } from "../api/use_answer";
import { Notice, Waiting } from "./notice";
import { go } from "./router";

/** The number of an episode of which only the id is at hand. */
export function EpisodeName({ id }: { id: string }) {
  const [name, setName] = useState("");
  useEffect(() => {
    let isShown = true;
    void episodeName(id).then((found) => isShown && setName(found));
    return () => {
      isShown = false;
    };
  }, [id]);
  return (
    <span className="episode-name num" title={id}>
      {name || "#…"}
    </span>
  );
}

/** /e/4 leads to the episode of that number, id or part of an id, at the same moment. */
export default function NamedEpisodePage({ address }: { address: URL }) {
  const name = decodeURIComponent(address.pathname.split("/")[2] ?? "");
  const { value, error, again } = useAnswer((signal) => findByName(name, signal), [name]);
  const id = value?.id;
  useEffect(() => {
    if (id) go(`/episodes/${encodeURIComponent(id)}${address.search}`, { replace: true });
  }, [id, address.search]);
  if (error) return <Notice error={error} again={again} />;
  return <Waiting what="Looking for the episode" />;
}
