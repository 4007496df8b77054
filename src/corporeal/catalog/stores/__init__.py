"""Object stores, one file each."""
