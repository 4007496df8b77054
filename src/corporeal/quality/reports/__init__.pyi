from . import html as html
from . import junit as junit
from . import sarif as sarif
