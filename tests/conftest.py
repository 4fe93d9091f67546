"""What all tests share: no deadline for generated examples, because test machines are busy ones."""

from hypothesis import settings

settings.register_profile("sayso", deadline=None)
settings.load_profile("sayso")
