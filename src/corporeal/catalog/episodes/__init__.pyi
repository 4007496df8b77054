from .state import NEXT as NEXT
from .state import State as State
from .state import check_change as check_change
from .writing import UnknownEpisodeError as UnknownEpisodeError
from .writing import episode as episode
from .writing import move as move
