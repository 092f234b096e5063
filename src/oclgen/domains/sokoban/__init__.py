"""Sokoban: push interchangeable boxes onto goal cells. Paper: Appendix A."""
