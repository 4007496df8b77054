from .report import describe_camera as describe_camera
from .report import plot_camera as plot_camera
from .uncertainty import HalvesDifference as HalvesDifference
from .uncertainty import UncertaintyMap as UncertaintyMap
from .uncertainty import compare_halves as compare_halves
from .uncertainty import lens_difference as lens_difference
from .uncertainty import projection_covariance as projection_covariance
from .uncertainty import uncertainty_map as uncertainty_map
