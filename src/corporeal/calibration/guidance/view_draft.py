"""Views that were taken and not solved into a document yet: kept, so that a capture can go on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from corporeal.calibration.board import Board
from corporeal.calibration.detection import BoardView
from corporeal.calibration.lens import LensModel
from corporeal.errors import CorporealError
from corporeal.files import atomic_write

_MOST_BYTES = 64 << 20
_Pixel = tuple[Annotated[float, Field(allow_inf_nan=False)],
               Annotated[float, Field(allow_inf_nan=False)]]  # fmt: skip


class _KeptView(BaseModel):
    model_config = ConfigDict(extra="forbid")

    corners: list[Annotated[int, Field(ge=0)]] = Field(min_length=6, max_length=10_000)
    pixels: list[_Pixel]

    @model_validator(mode="after")
    def _has_a_pixel_for_each(self) -> _KeptView:
        if len(self.corners) != len(self.pixels):
            raise ValueError("corners and pixels differ in number")
        return self


class ViewDraft(BaseModel):
    """The views of one camera so far, and what they are of."""

    model_config = ConfigDict(extra="forbid")

    camera: str
    board: str
    lens: LensModel
    width: int = Field(gt=0)
    height: int = Field(gt=0)
    views: list[_KeptView] = Field(max_length=1000)

    @classmethod
    def of(cls, camera: str, board: Board, lens: LensModel, size: tuple[int, int],
           views: list[BoardView]) -> ViewDraft:  # fmt: skip
        """Of these views; `size` is width, height."""
        kept: list[Any] = [
            {"corners": view.corners.tolist(), "pixels": np.round(view.pixels, 4).tolist()}
            for view in views
        ]
        return cls(camera=camera, board=board.hash, lens=lens, width=size[0], height=size[1],
                   views=kept)  # fmt: skip

    def board_views(self, board: Board) -> list[BoardView]:
        """The views again."""
        return [
            BoardView(f"view {number}", np.array(view.corners), np.array(view.pixels, np.float64))
            for number, view in enumerate(self.views, 1)
            if max(view.corners) < board.corner_count
        ]


class _Drafts(BaseModel):
    model_config = ConfigDict(extra="forbid")

    cameras: dict[str, ViewDraft] = {}


def draft_of(document: Path) -> Path:
    """Where the views are kept until they are in the station's document."""
    return document.with_name(f"{document.stem}.views.json")


def read_draft(
    document: Path, camera: str, board: Board, lens: LensModel, size: tuple[int, int]
) -> list[BoardView]:
    """The views that an earlier capture of the same camera, board, lens and size left behind."""
    draft = _read(draft_of(document)).cameras.get(camera)
    if draft is None or (draft.board, draft.lens, draft.width, draft.height) != (
        board.hash, lens, *size
    ):  # fmt: skip
        return []
    return draft.board_views(board)


def keep_draft(document: Path, draft: ViewDraft) -> None:
    """Keep the views of a camera; those of others stay."""
    path = draft_of(document)
    drafts = _read(path)
    drafts.cameras[draft.camera] = draft
    _write(path, drafts)


def drop_draft(document: Path, camera: str) -> None:
    """The camera is in the document: its views are not needed any more."""
    path = draft_of(document)
    drafts = _read(path)
    if drafts.cameras.pop(camera, None) is None:
        return
    if drafts.cameras:
        _write(path, drafts)
    else:
        path.unlink(missing_ok=True)


def _read(path: Path) -> _Drafts:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise CorporealError(f"{path} is larger than 64 MiB. Remove it.")
        return _Drafts.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return _Drafts()
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"]) or "the file"
        raise CorporealError(
            f"{path}: {where}: {first['msg']}; expected the views of a guided capture. Remove it."
        ) from None
    except OSError as error:
        raise CorporealError(f"{path} cannot be read: {error.strerror or error}.") from None


def _write(path: Path, drafts: _Drafts) -> None:
    atomic_write(path, drafts.model_dump_json())
