from .episode_entry import NOTHING as NOTHING
from .episode_entry import entry_of as entry_of
from .episode_entry import sensor_serials as sensor_serials
from .ingestion import Ingested as Ingested
from .ingestion import IngestOutcome as IngestOutcome
from .ingestion import ingest as ingest
