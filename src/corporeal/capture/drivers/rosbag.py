"""A ROS 1 bag, or a ROS 2 bag in sqlite or MCAP files."""

from __future__ import annotations

from collections.abc import Iterator

from corporeal.capture.driver import Driver, Mark, Rig, Sample
from corporeal.capture.ros import bag_driver
from corporeal.capture.ros.bag_driver import BagOptions


def describe(options: BagOptions) -> Rig:
    """The streams of the bag; its defects are the rig's problems."""
    return bag_driver.describe(options)


def read(options: BagOptions) -> Iterator[Sample | Mark]:
    """The samples with their original stamps."""
    yield from bag_driver.read(options)


DRIVER = Driver(BagOptions, describe, read)
