"""Integrations with other libraries; each needs an optional dependency."""
