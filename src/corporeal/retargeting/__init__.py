"""Human motion -> robot motion: readers, cleaning, contacts, one solve over the whole clip."""
