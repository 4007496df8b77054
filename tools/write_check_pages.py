"""Writes what is generated from the checks' docstrings: their pages and the default policy."""

from __future__ import annotations

from pathlib import Path

from corporeal.quality.check import checks, default_document, index, page

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Write docs/checks and the default policy; pages of checks that are gone go, too."""
    policy = ROOT / "src" / "corporeal" / "quality" / "policies" / "default.yaml"
    policy.write_text(default_document(), "utf-8")
    pages = ROOT / "docs" / "checks"
    pages.mkdir(exist_ok=True)
    for old in pages.glob("*.md"):
        if old.stem not in checks():
            old.unlink()
    for name in checks():
        (pages / f"{name}.md").write_text(page(name), "utf-8")
    (pages / "README.md").write_text(index(), "utf-8")


if __name__ == "__main__":
    main()
