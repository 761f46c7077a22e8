"""Which episodes are drawn: widening ranges, hard cases, snapshots of earlier policies."""
