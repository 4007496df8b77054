from .inlet import play_clip as play_clip
from .live_recording import episode_of_live as episode_of_live
from .session import LiveSettings as LiveSettings
from .session import LiveStatus as LiveStatus
from .session import LiveSummary as LiveSummary
from .session import run_live as run_live
