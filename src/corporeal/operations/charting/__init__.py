"""Figures and marks that several questions share."""
