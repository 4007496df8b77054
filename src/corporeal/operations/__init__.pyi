from . import alert as alert
from . import coverage as coverage
from . import monitoring as monitoring
from . import question as question
from . import review as review
from . import scope as scope
from . import shifts as shifts
from . import tracking as tracking
