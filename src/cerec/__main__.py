"""`python -m cerec`: the command line where its script is not on the path."""

from cerec.cli.main import main

main()
