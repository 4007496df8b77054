"""What a stream, a rig and a document are."""
