from .trackability import track as track
from .tracker import open_policy as open_policy
