from . import envelope as envelope
from . import network as network
from .detector import AnomalyDetector as AnomalyDetector
from .detector import open_detector as open_detector
