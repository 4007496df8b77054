from . import filters as filters
from . import grid as grid
from . import hands as hands
from . import recognition as recognition
from . import runs as runs
from . import track as track
from . import warping as warping
from .signal_part import SignalPart as SignalPart
