"""The fewest changes of attributes that flip an item: compiled, arrays in and columns out."""
