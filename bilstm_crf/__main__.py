"""Run the command line as ``python -m bilstm_crf``."""

from bilstm_crf.cli import main

if __name__ == "__main__":
    main()
