"""Link traces in Mahimahi's format: the reader, the generator, and the catalogue of datasets/traces."""
