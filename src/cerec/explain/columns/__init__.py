"""Attribute answers for whole blocks of users: compiled, arrays in and columns out."""
