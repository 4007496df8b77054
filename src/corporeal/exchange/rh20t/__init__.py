"""What RH20T keeps in files of its own kind."""
