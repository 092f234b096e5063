"""`python -m oclgen` is the same as `oclgen`."""

from oclgen.cli import main

main()
