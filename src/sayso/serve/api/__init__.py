"""The JSON interface: one file a subject, one error form for all."""
