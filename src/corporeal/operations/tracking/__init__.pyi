from .tracking import TrackedRun as TrackedRun
from .tracking import track_batch as track_batch
from .tracking import track_release as track_release
from .tracking import tracking_available as tracking_available
