from . import link as link
from . import unitree_message as unitree_message
