from .clip_files import ClipFile as ClipFile
from .clip_files import ClipOutcome as ClipOutcome
from .clip_files import find_clips as find_clips
from .clip_job import ClipJob as ClipJob
from .clip_job import StageReport as StageReport
from .clip_job import jobs_of as jobs_of
from .clip_job import run_in_worker as run_in_worker
from .clip_job import run_job as run_job
