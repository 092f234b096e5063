"""Labyrinth (IPC 2023): walk to the exit of a board whose rows and columns can be shifted. Paper: Appendix A."""
