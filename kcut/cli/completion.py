"""`kcut completion`: the script that teaches a shell to complete kcut's commands, options and names."""

import click

from kcut.cli.config import TolerantCommand

HELP = """Print the completion script of a shell: commands, options, run ids, drafts.

\b
bash, in ~/.bashrc:
  eval "$(kcut completion bash)"
zsh, in ~/.zshrc, after compinit:
  eval "$(kcut completion zsh)"
fish, once:
  kcut completion fish > ~/.config/fish/completions/kcut.fish

\b
Examples:
  kcut completion bash
  source <(kcut completion zsh)
"""


@click.command("completion", cls=TolerantCommand, help=HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print the script; see HELP."""
    from click.shell_completion import ShellComplete, get_completion_class

    from kcut.cli import app

    kind = get_completion_class(shell)
    if kind is None:
        raise AssertionError(shell)
    # the base class's method: bash's own first starts bash to learn its version, and complains on stderr
    script = ShellComplete.source(kind(app, {}, "kcut", "_KCUT_COMPLETE"))
    # no error may land in the line being typed
    for call in (f"{shell}_complete $1)", f"{shell}_complete kcut)", "(commandline -t) kcut)"):
        script = script.replace(call, f"{call[:-1]} 2>/dev/null)")
    click.echo(script, nl=False)
    return 0
