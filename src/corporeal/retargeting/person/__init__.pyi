from .marker_set import MarkerSet as MarkerSet
from .marker_set import open_marker_set as open_marker_set
from .skeleton_map import SkeletonMap as SkeletonMap
from .standard_axes import AXES as AXES
from .standard_axes import METRES as METRES
