"""What is known of the agent CLIs: their terminal events, and what those say of a trial."""
