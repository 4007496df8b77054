"""Names and limits of the episode file, as `docs/spec/episode.md` decides them."""

from __future__ import annotations

FORMAT = "corporeal-episode"
VERSION = 2
"""The newest; a file without rounded depth is of version 1, which older readers know too."""

# Superblock 3 with checksummed metadata: readable by every HDF5 since 1.10 (2016).
LIBVER = ("v110", "v110")
SIGNATURE = b"\x89HDF\r\n\x1a\n"

METADATA = "metadata"
STREAMS = "metadata/streams"
FIELDS = "metadata/fields"
DOCUMENTS = "metadata/documents"

# A reader takes no more than these before it has looked at what is really there.
MAX_STREAMS = 1024
MAX_TEXT_BYTES = 16 << 20
MAX_FRAME_BYTES = 256 << 20

# The only decoder that a file of this version may ask for.
CODECS = ("h264", "hevc", "av1", "vp9")

# The datasets of a stream, besides `time_ns` and `data`.
EXTRA_DATASETS: dict[str, tuple[str, ...]] = {
    "array": (),
    "depth": (),
    "points": ("offset",),
    "text": ("offset",),
    "video": ("packet_start", "packet_size", "packet_key"),
}
