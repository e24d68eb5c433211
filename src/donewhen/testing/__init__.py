"""For tests and for authors of adapters: shipped, never imported by the rest of the package."""
