from .body_axes import body_axes as body_axes
from .body_axes import foot_axes as foot_axes
from .broad_phase import Shapes as Shapes
from .broad_phase import lowest_point as lowest_point
from .broad_phase import reach_along as reach_along
from .broad_phase import shapes_of as shapes_of
from .collision_model import CollisionModel as CollisionModel
from .collision_model import LinkPair as LinkPair
