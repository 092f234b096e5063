"""Logistics: bring packages to their destinations with one truck per city and shared airplanes. Paper: Appendix A."""
