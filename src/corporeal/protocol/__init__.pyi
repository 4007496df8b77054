from . import calibration as calibration
from . import card as card
from . import coverage as coverage
from . import protocol as protocol
from .calibration import Calibration as Calibration
from .protocol import Protocol as Protocol
from .protocol import open_protocol as open_protocol
from .protocol import protocol_names as protocol_names
