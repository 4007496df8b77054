from . import envelope as envelope
from . import network as network
from .network import AnomalyDetector as AnomalyDetector
from .network import detector_of_task as detector_of_task
from .network import open_detector as open_detector
