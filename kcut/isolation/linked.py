"""Linked worktrees of the user's own repository: registered and unregistered so that git never sees half of one."""

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from kcut.isolation.carried import Carried, config_text
from kcut.isolation.checkout import Checkout
from kcut.isolation.repository import write_admin
from kcut.system.files import remove_tree

#: Endings of a registration's folder for the moment before it is moved in, and after it was moved out.
_COMING, _GOING = ".new", ".old"
#: Seconds to wait for the lock; what is done under it takes milliseconds.
_PATIENCE = 20.0
#: Bytes that are read of a file with a path: a trial can make it as long as it likes.
_LONGEST = 1 << 16


@contextlib.contextmanager
def _alone(common_dir: Path) -> Iterator[None]:
    """One kcut process at a time; the lock is on the folder itself, so nothing is written for it.

    Who holds it for long is no kcut, or one that was stopped: that is not waited for.
    """
    handle = os.open(common_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        patience = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() < patience:
                    time.sleep(0.005)
                    continue
            except OSError:
                pass  # no locks here
            break
        yield
    finally:
        os.close(handle)


def register(checkout: Checkout, tree: Path, name: str, prepared: Path, carried: Carried) -> Path:
    """Register `tree` as a detached worktree at the base; returns its administrative folder, all of it at once.

    git reads every folder in `worktrees/`, also one that is only half written: so it is written elsewhere, at
    `prepared`, and moved in.
    """
    worktrees = checkout.common_dir / "worktrees"
    admin = worktrees / name
    with _alone(checkout.common_dir):
        worktrees.mkdir(exist_ok=True)
        _write(prepared, checkout, tree, carried)
        try:
            prepared.rename(admin)
        except OSError as error:
            remove_tree(prepared)
            if error.errno != errno.EXDEV:
                raise
            nearby = checkout.common_dir / f"{name}{_COMING}"  # the same file system as where it belongs
            _write(nearby, checkout, tree, carried)
            nearby.rename(admin)
    return admin


def _write(folder: Path, checkout: Checkout, tree: Path, carried: Carried) -> None:
    common = os.fspath(checkout.common_dir)
    sparse = carried.files.get("info/sparse-checkout")
    write_admin(folder, worktree=tree, common=common, commit=checkout.base, sparse=sparse)
    if checkout.sparse and (checkout.git_dir / "config.worktree").is_file():
        # settings that hold for one worktree: the new one gets those of a sparse checkout, as git itself does it
        own = [setting for setting in carried.settings if setting[0].startswith("core.sparsecheckout")]
        (folder / "config.worktree").write_bytes(os.fsencode(config_text(own)))


def unregister(common_dir: Path, folder: Path, *, but: Collection[str] = ()) -> list[str]:
    """Remove the registrations of all worktrees below a run's folder, locked ones too, but for those in `but`.

    kcut's are known by their name, which begins with the folder's own, those that trials added by where they lead:
    the user's are never touched. Returns what could not be removed.
    """
    worktrees = common_dir / "worktrees"
    left: list[str] = []
    with _alone(common_dir):
        for admin in _listed(worktrees):
            own = admin.name.startswith(f"{folder.name}-")
            if own and admin.name.removeprefix(f"{folder.name}-") in but:
                continue
            target = _target(admin)
            # half written or half removed, it is named by a number that only this run has
            if (own and target is None) or _leads_below(target, folder, but):
                left += _drop(common_dir, admin)
        for passing in (_COMING, _GOING):
            for admin in common_dir.glob(f"{folder.name}-*{passing}"):
                left += remove_tree(admin)
        with contextlib.suppress(OSError):
            worktrees.rmdir()  # only if it is empty, as git itself does
    return left


def drop(common_dir: Path, name: str) -> list[str]:
    """Remove one registration, if it was made; returns what could not be removed."""
    worktrees = common_dir / "worktrees"
    with _alone(common_dir):
        left = _drop(common_dir, worktrees / name)
        with contextlib.suppress(OSError):
            worktrees.rmdir()
    return left


def _drop(common_dir: Path, admin: Path) -> list[str]:
    away = common_dir / f"{admin.name}{_GOING}"
    try:
        admin.rename(away)  # out of git's sight at once, then emptied
    except FileNotFoundError:
        return []
    except OSError:
        away = admin
    return remove_tree(away)


def _listed(worktrees: Path) -> list[Path]:
    try:
        return list(worktrees.iterdir())
    except OSError:
        return []


def _target(admin: Path) -> Path | None:
    """Where a registration leads; None if nothing says so. One that cannot be read leads to itself."""
    try:
        if not stat.S_ISREG((admin / "gitdir").lstat().st_mode):
            return admin  # a trial's pipe would keep us waiting
        with (admin / "gitdir").open("rb") as file:
            target = os.fsdecode(file.read(_LONGEST)).removesuffix("\n")
    except FileNotFoundError:
        return None
    except OSError:
        return admin
    return Path(os.path.normpath(admin / target))


def _leads_below(target: Path | None, folder: Path, but: Collection[str]) -> bool:
    """True for a place below the run's folder, but for those that are kept."""
    if target is None or not target.is_relative_to(folder):
        return False
    return target.relative_to(folder).parts[:1] not in {(name,) for name in but}
