from .signal_part import SignalPart as SignalPart
from .warping_path import MOST as MOST
from .warping_path import warping_path as warping_path
