from . import guide_feed as guide_feed
from . import operator_server as operator_server
from . import own_authority as own_authority
from . import server as server
from . import settings as settings
