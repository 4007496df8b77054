from .metadata_cache import USUAL_FIELDS as USUAL_FIELDS
from .metadata_cache import find_cache as find_cache
