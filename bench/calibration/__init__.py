"""How right calibrations are about themselves: against truth, and beside mrcal and OpenCV."""
