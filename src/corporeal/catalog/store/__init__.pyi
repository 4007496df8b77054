from .remote_episode import open_remote as open_remote
from .store import Store as Store
from .store import StoreError as StoreError
from .store import blocks_of as blocks_of
from .store import check_digest as check_digest
from .store import digest_of as digest_of
from .store import not_there as not_there
from .store import verify_store as verify_store
