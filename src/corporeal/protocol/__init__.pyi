from . import coverage as coverage
from . import protocol as protocol
from .library import open_protocol as open_protocol
from .library import protocol_names as protocol_names
from .protocol import Protocol as Protocol
