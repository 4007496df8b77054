__version__: str

from .catalog.workspace import Workspace as Workspace
from .catalog.workspace import open_workspace as open_workspace
from .embodiment import open_robot as open_robot
from .episode import Episode as Episode
from .episode import EpisodeWriter as EpisodeWriter
from .errors import CorporealError as CorporealError
from .exchange.training import EpisodeDataset as EpisodeDataset
from .interface import check as check
from .interface import export as export
from .interface import open as open
from .interface import open_dataset as open_dataset
from .interface import score as score
from .retargeting import retarget as retarget
from .schema import open_schema as open_schema
