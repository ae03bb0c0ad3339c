"""From the bytes of a file to arrays of ids."""
