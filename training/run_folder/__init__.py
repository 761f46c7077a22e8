"""What a run writes into its folder: checkpoint, metrics, card, learning curve, alarms."""
