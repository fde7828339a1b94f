"""The shell without its console script: `python -m modernnca`."""

from modernnca.cli import run

if __name__ == "__main__":
    run()
