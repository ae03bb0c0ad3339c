"""The commands, one file each: glue between configuration, objects and files."""
