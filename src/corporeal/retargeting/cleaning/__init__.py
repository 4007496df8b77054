"""Human motion in metres, upright, without gaps, outliers and noise."""
