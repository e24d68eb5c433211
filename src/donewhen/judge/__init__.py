"""The judge: gates on one tree add up to one verdict; the same library in every mode."""
