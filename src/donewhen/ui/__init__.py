"""What a person or a script sees. Only this package prints, exits and knows the CLI library."""
