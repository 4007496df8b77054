from . import html as html
from . import junit as junit
from . import markdown as markdown
from . import sarif as sarif
from .measured_value import finding_unit as finding_unit
