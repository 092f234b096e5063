"""Blocksworld with four operators: rearrange towers of blocks with one arm. Paper: Appendix A."""
