"""Try: sentences that somebody pastes, answered by a run's model in a process of its own."""
