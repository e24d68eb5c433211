"""What we keep on disk: journals, evidence, inbox. No decisions; every write is atomic."""
