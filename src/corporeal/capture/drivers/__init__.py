"""Sources of samples, one file each; the file's name is the driver's name."""
