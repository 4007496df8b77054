from . import envelope as envelope
from . import network as network
from .network import AnomalyDetector as AnomalyDetector
from .network import open_detector as open_detector
