"""Questions of the dashboards, one file each: its figures and its chart."""
