from .document import LabelLane as LabelLane
from .document import Taxonomy as Taxonomy
from .document import open_taxonomy as open_taxonomy
from .taxonomy_store import kept_taxonomies as kept_taxonomies
from .taxonomy_store import kept_taxonomy as kept_taxonomy
from .taxonomy_store import usable_taxonomies as usable_taxonomies
