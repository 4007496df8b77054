from .event import PhysicalEvent as PhysicalEvent
from .event import detect as detect
from .proposal import Example as Example
from .proposal import propose as propose
