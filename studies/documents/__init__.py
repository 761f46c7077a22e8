"""The blocks of documents that stored comparisons write."""
