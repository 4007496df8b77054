from .plot import plot_episode as plot_episode
from .summary import EpisodeSummary as EpisodeSummary
from .summary import StreamSummary as StreamSummary
from .summary import summarise as summarise
from .verification import Damage as Damage
from .verification import verify as verify
