"""python -m ndm_tcp: the command ndm-tcp."""

import sys

from ndm_tcp.command import main

if __name__ == "__main__":
    sys.exit(main())
