"""The pages of docs/reference that the code generates."""
