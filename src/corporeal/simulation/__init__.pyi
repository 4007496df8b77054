from . import demonstration as demonstration
from . import rendering as rendering
from . import rig as rig
from . import room as room
from . import run as run
from . import sensing as sensing
from . import task as task
from . import variation as variation
