from . import server as server
from . import settings as settings
