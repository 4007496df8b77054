from .document import LabelLane as LabelLane
from .document import Taxonomy as Taxonomy
from .document import open_taxonomy as open_taxonomy
from .impact import Impact as Impact
from .impact import find_impact as find_impact
from .taxonomy_store import kept_taxonomies as kept_taxonomies
from .taxonomy_store import kept_taxonomy as kept_taxonomy
from .taxonomy_store import usable_taxonomies as usable_taxonomies
