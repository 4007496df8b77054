from .comparison import LEAST_EDIT_SCORE as LEAST_EDIT_SCORE
from .comparison import LEAST_KAPPA as LEAST_KAPPA
from .comparison import MOST_FRAMES as MOST_FRAMES
from .comparison import NOTHING as NOTHING
from .comparison import AgreementSummary as AgreementSummary
from .comparison import DisagreementKind as DisagreementKind
from .comparison import summarise as summarise
