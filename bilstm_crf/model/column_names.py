"""How the tables of extra columns are called among the weights."""


def column_module(column: str) -> str:
    """Return the name of an extra column's table among the modules."""
    # torch.nn.ModuleDict refuses dots and names of its own methods.
    return "column " + column.replace("_", "__").replace(".", "_dot")
