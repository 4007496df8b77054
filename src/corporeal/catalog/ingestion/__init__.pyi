from .episode_entry import NOTHING as NOTHING
from .episode_entry import sensor_serials as sensor_serials
from .ingestion import Ingested as Ingested
from .ingestion import Outcome as Outcome
from .ingestion import ingest as ingest
