"""For all tests."""

from hypothesis import settings

# Other work on the machine must not fail a test.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")
