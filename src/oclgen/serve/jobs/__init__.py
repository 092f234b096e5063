"""Jobs: the queue, their processes, what they found, and pictures of their plans."""
