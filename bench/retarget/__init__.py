"""Human motion to a humanoid: ours beside its peers, on the same clips, with the same measures."""

import os

# Before numpy is loaded: frames per CPU-second are those of one core.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
