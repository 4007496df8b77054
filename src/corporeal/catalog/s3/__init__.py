"""What S3 can do beyond plain objects."""
