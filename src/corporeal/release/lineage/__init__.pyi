from .frame_trace import history_of as history_of
from .frame_trace import trace_frame as trace_frame
from .lineage import LineageGraph as LineageGraph
from .lineage import lineage_of as lineage_of
from .model import add_model as add_model
from .picture import as_mermaid as as_mermaid
from .picture import as_text as as_text
from .picture import write_picture as write_picture
