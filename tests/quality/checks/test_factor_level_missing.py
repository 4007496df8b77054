"""Every planned level occurs."""

from __future__ import annotations

import pytest
from tests.quality.demonstrations import batch_of, demonstration

from corporeal.errors import NotAssessed
from corporeal.protocol import open_protocol
from corporeal.protocol.coverage import Factor
from corporeal.quality.batch import Batch
from corporeal.quality.checks.factor_level_missing import find


def _batch(*rooms: str) -> Batch:
    factor = Factor(name="environment", levels=("kitchen", "office", "store"))
    protocol = open_protocol("pick_place").model_copy(update={"factors": (factor,)})
    episodes = [
        demonstration(0, index=number, metadata={"environment": room})
        for number, room in enumerate(rooms)
    ]
    return batch_of(*episodes, protocol=protocol)


def test_passes_when_every_environment_occurs() -> None:
    assert not list(find(_batch(*("kitchen", "office", "store") * 3)))


def test_finds_an_environment_that_no_episode_has() -> None:
    (found,) = find(_batch(*("kitchen", "office", "office") * 3))
    assert found.message == "no episode has environment store"


def test_a_batch_that_has_just_begun_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(find(_batch("kitchen")))
