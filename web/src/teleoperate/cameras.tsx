import { useEffect, useRef } from "react";
import { fitPicture } from "./camera_picture";
import type { Link } from "./link";

/** What the robot's cameras see: always the newest picture. */
export function Cameras({ link, names }: { link: Link; names: string[] }) {
  if (!names.length) return null;
  return (
    <ul className="cameras" aria-label="Cameras">
      {names.map((name) => (
        <li key={name}>
          <CameraCanvas link={link} name={name} />
          <span>{name}</span>
        </li>
      ))}
    </ul>
  );
}

function CameraCanvas({ link, name }: { link: Link; name: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(
    () =>
      link.onPicture(async (picture) => {
        if (picture.head.camera !== name || !canvas.current) return;
        await fitPicture(canvas.current, picture);
        if (canvas.current) canvas.current.dataset.time = String(picture.head.time_ns);
      }),
    [link, name],
  );
  return (
    <canvas ref={canvas} width={640} height={480} role="img" aria-label={`What ${name} sees`} />
  );
}
