"""What goes beyond the paper, and how deep a search looks: chained rollouts, action elimination, pruning."""
