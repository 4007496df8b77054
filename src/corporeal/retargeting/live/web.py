"""Who may talk to the WebSockets of live retargeting: programs, and pages of this machine."""

from __future__ import annotations

import re

# A browser lets any page connect to anything, so pages of strangers have to be refused here.
OWN_PAGES = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
