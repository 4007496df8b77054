from .difference import compare as compare
from .difference import describe as describe
