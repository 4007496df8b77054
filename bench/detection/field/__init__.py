"""Mistakes of the field, planted in files of every kind and read back as a user reads them."""
