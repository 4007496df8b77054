from . import operator_input as operator_input
from . import operator_message as operator_message
