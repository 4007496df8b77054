"""The kinds of files that human motion comes in; one file each, ending in READER."""
