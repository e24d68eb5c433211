"""donewhen.toml or [tool.donewhen]: read once, checked strictly, with who set each value."""
