"""The query language: `task = pick_place and score > 0.8`, read, spelled out, and asked as SQL."""
