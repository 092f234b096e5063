"""What clients call: our own interface, and the one of planning services."""
