"""The network: tensors only, no files and no configuration."""
