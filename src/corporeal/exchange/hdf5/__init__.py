"""HDF5 files of others, in and out."""
