"""The command-line tool for stores in files: `python -m twindex --help`."""

import signal
import sys

from ._twindex import _run_command_line


def main() -> int:
    """Runs the command of these arguments. Returns the exit code."""
    # The tool is not Python code, so Python cannot stop it with an exception.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    return _run_command_line(["twindex", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
