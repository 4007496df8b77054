"""RLDS datasets: what their files say, their episodes, and how both are written."""
