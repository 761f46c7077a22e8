"""What learning and each part of the law add, and what other learners and precisions do."""
