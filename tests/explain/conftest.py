from toy_fixtures import evaluations, runs, store, subjects

__all__ = ["evaluations", "runs", "store", "subjects"]
