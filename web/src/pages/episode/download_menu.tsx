import { useState } from "react";
import { below } from "../../api/episode";
import type { EpisodeDetail } from "../../api/schema";
import { Dialog } from "../../parts/dialog";
import "./download_menu.css";
import { OtherTool } from "./other_tool";
import { bytesText } from "./wording";

const rerunWords =
  "Give this command where Rerun is installed (pip install rerun-sdk): it fetches the recording from this Studio " +
  "and opens it. Or download the .rrd and open it there; do so where Studio asks for a log-in.";
const foxgloveWords =
  "Download the .mcap and drag it into Foxglove, or open it there as a local file. Foxglove cannot fetch it by itself: " +
  "Studio gives recordings to no other site or program of the browser, so that none can read them behind your back.";

/** The episode as a file, and in the tools that others use. */
export function DownloadMenu({ episode }: { episode: EpisodeDetail }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        className="quiet"
        aria-haspopup="dialog"
        title="Download, or open in Rerun or Foxglove"
        onClick={() => setOpen(true)}
      >
        ⤓<span className="episode-head-long"> Open in…</span>
      </button>
      {isOpen && (
        <Dialog title="Open elsewhere" onClose={() => setOpen(false)}>
          <DownloadList episode={episode} />
        </Dialog>
      )}
    </>
  );
}

function DownloadList({ episode }: { episode: EpisodeDetail }) {
  const from = `${window.location.origin}/api${below(episode.id, "")}`;
  const { row } = episode;
  return (
    <ul className="downloads">
      <OtherTool
        id={episode.id}
        format="rrd"
        title="Rerun"
        command={`rerun "${from}episode.rrd"`}
        words={rerunWords}
      />
      <OtherTool
        id={episode.id}
        format="mcap"
        title="Foxglove"
        command={null}
        words={foxgloveWords}
      />
      <li>
        <h3>The episode file</h3>
        <p className="muted">
          As it was recorded: {row.file}, {bytesText(row.bytes)}. Any HDF5 library reads it, and so
          does every command of Corporeal.
        </p>
        <p className="downloads-way">
          <a className="button" href={`/api${below(episode.id, "file")}`} download>
            Download .h5
          </a>
        </p>
      </li>
    </ul>
  );
}
