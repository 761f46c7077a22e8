"""What compare.py does: the runs of a comparison or of targets, and everything that is written from them."""
