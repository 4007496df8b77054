from . import guide_feed as guide_feed
from . import server as server
from . import settings as settings
