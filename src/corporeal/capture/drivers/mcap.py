"""An MCAP file of ROS messages, or the folder of a ROS 2 bag made of such files."""

from __future__ import annotations

from collections.abc import Iterator

from corporeal.capture.driver import Driver, Mark, Rig, Sample
from corporeal.capture.ros import bag_driver
from corporeal.capture.ros.bag_driver import BagOptions, check_suffix


def describe(options: BagOptions) -> Rig:
    """The streams of the file; its defects are the rig's problems."""
    check_suffix(options.path, (".mcap",), "rosbag")
    return bag_driver.describe(options)


def read(options: BagOptions) -> Iterator[Sample | Mark]:
    """The samples with their original stamps."""
    check_suffix(options.path, (".mcap",), "rosbag")
    yield from bag_driver.read(options)


DRIVER = Driver(BagOptions, describe, read)
