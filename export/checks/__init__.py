"""What an integer model must pass: agreement with the float policy, and the proof against overflow."""
