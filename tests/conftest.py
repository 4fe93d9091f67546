"""What all tests share: generated examples without a deadline, since test machines are busy, and a Ctrl-C that counts.

Where tests are started in the background Ctrl-C is ignored, and so it would be in the commands that they start.
"""

import signal

from hypothesis import settings

settings.register_profile("sayso", deadline=None)
settings.load_profile("sayso")
signal.signal(signal.SIGINT, signal.default_int_handler)
