"""The MCP servers that a checkout's `.mcp.json` files name."""

import json
from pathlib import Path
from typing import Any

from kcut.agents.adapter import trusted_folder
from kcut.agents.values import mapping
from kcut.system.files import read_regular

FILE = ".mcp.json"
_LARGEST = 1 << 20


def project_servers(cwd: Path) -> bytes:
    """One configuration file with the servers of the files in `cwd` and above it, up to the checkout's root.

    Of two servers of one name the nearer one counts. A file that is no configuration is given as it is, so that the
    CLI itself says what is wrong with it.
    """
    root = trusted_folder(cwd)
    servers: dict[str, Any] = {}
    for folder in reversed((cwd, *cwd.parents)):
        if not folder.is_relative_to(root):
            continue
        try:
            data = read_regular(folder / FILE, limit=_LARGEST)
        except OSError:
            continue
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            return data
        found = mapping(document).get("mcpServers")
        if not isinstance(found, dict):
            return data
        servers |= found
    return json.dumps({"mcpServers": servers}).encode()
