"""`python -m sayso`: the command line, for launchers that start modules, such as torchrun."""

from sayso.cli import main

main()
