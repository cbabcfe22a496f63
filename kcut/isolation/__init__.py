"""Throwaway worktrees for trials, made so that nothing of a trial reaches the user's repository or another trial."""

from kcut.isolation.aside import kept_folder, set_aside
from kcut.isolation.checkout import Checkout, CheckoutFailed, inspect
from kcut.isolation.environment import clean_environment, ignored_files, venv_inside
from kcut.isolation.fingerprint import Fingerprint, fingerprint
from kcut.isolation.freeze import Frozen
from kcut.isolation.leftovers import sweep
from kcut.isolation.oracle import plan_oracle, seen_at_base
from kcut.isolation.origin import check_plan
from kcut.isolation.protected import protected_paths
from kcut.isolation.run import Isolation, isolate
from kcut.isolation.snapshot import snapshot, take_snapshot
from kcut.isolation.worktree import Worktree

__all__ = [
    "Checkout",
    "CheckoutFailed",
    "Fingerprint",
    "Frozen",
    "Isolation",
    "Worktree",
    "check_plan",
    "clean_environment",
    "fingerprint",
    "ignored_files",
    "inspect",
    "isolate",
    "kept_folder",
    "plan_oracle",
    "protected_paths",
    "seen_at_base",
    "set_aside",
    "snapshot",
    "sweep",
    "take_snapshot",
    "venv_inside",
]
