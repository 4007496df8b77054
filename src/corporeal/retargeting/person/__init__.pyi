from .marker_set import MarkerSet as MarkerSet
from .marker_set import open_marker_set as open_marker_set
from .picture_keypoints import read_picture_keypoints as read_picture_keypoints
from .skeleton_map import SkeletonMap as SkeletonMap
from .standard_axes import AXES as AXES
from .standard_axes import METRES as METRES
from .triangulation import triangulate as triangulate
