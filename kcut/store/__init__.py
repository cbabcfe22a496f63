"""The record of a checkout: one SQLite file that holds its runs, their attempts and events."""

from kcut.store.database import SCHEMA_VERSION
from kcut.store.place import DATABASE, STATE, run_dir, state_dir, state_path
from kcut.store.record import Event, RunRow, Store

__all__ = ["DATABASE", "SCHEMA_VERSION", "STATE", "Event", "RunRow", "Store", "run_dir", "state_dir", "state_path"]
