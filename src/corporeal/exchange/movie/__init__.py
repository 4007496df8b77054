"""A camera's rows as a movie: pictures decoded, packets copied, MP4 written."""
