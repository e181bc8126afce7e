"""The entry point without the packages that it needs."""

import subprocess
import sys

import pytest


@pytest.mark.processes
def test_without_the_extra_one_line_names_it() -> None:
    code = "import sys; sys.modules['typer'] = None\nfrom polystein.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr == (
        "polystein: the command line needs typer: pip install 'polystein[cli]'\n"
    )
