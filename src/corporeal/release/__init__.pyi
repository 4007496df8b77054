from . import card as card
from . import lineage as lineage
from . import reading as reading
from .creation import create_release as create_release
from .difference import diff_releases as diff_releases
from .label_bundle import POLICIES as POLICIES
from .label_bundle import LabelPolicy as LabelPolicy
from .verification import verify_release as verify_release
