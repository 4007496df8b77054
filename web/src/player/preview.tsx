import { useEffect, useState } from "react";
import { pictureAddress } from "../api/movie";
import type { EpisodeDetail, EpisodeStream } from "../api/schema";
import { getStamps } from "../api/stamps";
import { frameAt } from "./clock";

const WIDTH = 200;
const RESTS_MS = 80;

export interface PreviewSource {
  id: string;
  camera: EpisodeStream;
}

/** The camera that previews are taken from: the first of the robot, else the first of all. */
export function previewSource({ id, streams }: EpisodeDetail): PreviewSource | null {
  const cameras = streams.filter(({ kind, samples }) => kind === "video" && samples > 0);
  const camera = cameras.find(({ group }) => group === "observations") ?? cameras[0];
  return camera ? { id, camera } : null;
}

const known = new WeakMap<PreviewSource, Promise<Float64Array>>();

/** Asked for once for each episode that is open. */
function stampsOf(source: PreviewSource): Promise<Float64Array> {
  const found = known.get(source) ?? getStamps(source.id, source.camera.path);
  known.set(source, found);
  found.catch(() => known.delete(source));
  return found;
}

/** The picture that a camera took last before a time, once the pointer rests there. */
export function Preview({ source, timeNs }: { source: PreviewSource; timeNs: number }) {
  const { id, camera } = source;
  const [shown, setShown] = useState<string | null>(null);
  useEffect(() => {
    const control = new AbortController();
    const timer = window.setTimeout(() => {
      stampsOf(source)
        .then((stamps) => {
          if (control.signal.aborted) return;
          const frame = frameAt(stamps, timeNs);
          setShown(frame < 0 ? null : pictureAddress(id, camera.path, frame, WIDTH));
        })
        .catch(() => undefined); // The words stand without it.
    }, RESTS_MS);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [id, camera.path, source, timeNs]);
  if (!shown) return null;
  const [height = 3, width = 4] = camera.shape;
  return (
    <img
      className="timeline-preview"
      src={shown}
      alt=""
      width={WIDTH}
      height={Math.round((WIDTH * height) / width)}
    />
  );
}
