"""Readers of files: plain tables, KGAT, RecBole."""
