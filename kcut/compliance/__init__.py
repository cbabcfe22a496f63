"""What an agent did in a recorded run: did it check its work, keep to its folder, claim what it had tested. Pure."""

from kcut.compliance.behaviors import Behaviors, behaviors
from kcut.compliance.rules import Rules, Task, parse_rules

__all__ = ["Behaviors", "Rules", "Task", "behaviors", "parse_rules"]
