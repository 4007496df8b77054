"""Pictures that wait for their encoder are copies, and never too many."""

from __future__ import annotations

import numpy as np

from corporeal.capture.picture_pool import PicturePool


def test_a_copy_stays_when_the_driver_uses_its_buffer_again() -> None:
    pool, buffer = PicturePool(2), np.full((4, 6, 3), 7, np.uint8)
    held = pool.copy(buffer)
    buffer[:] = 9
    assert held is not None
    assert (held == 7).all()


def test_there_are_never_more_copies_than_agreed() -> None:
    pool, picture = PicturePool(2), np.zeros((4, 6), np.uint16)
    assert pool.copy(picture) is not None
    assert pool.copy(picture) is not None
    assert pool.copy(picture) is None
    assert pool.copy(picture, wait_s=0.01) is None


def test_memory_given_back_is_used_again() -> None:
    pool = PicturePool(1)
    first = pool.copy(np.full((4, 6), 1, np.uint16))
    assert first is not None
    pool.give_back(first)
    second = pool.copy(np.full((4, 6), 2, np.uint16))
    assert second is first
    assert (second == 2).all()
