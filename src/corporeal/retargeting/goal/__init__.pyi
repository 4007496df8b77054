from .robot_map import MapDraft as MapDraft
from .robot_map import RetargetingMap as RetargetingMap
from .robot_map import RobotMap as RobotMap
from .robot_map import draft_map as draft_map
from .robot_map import open_map as open_map
from .robot_map import robot_map as robot_map
