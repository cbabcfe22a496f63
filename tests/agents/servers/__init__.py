"""Scripted model servers on loopback: what the model says is written in a test, what the CLI does with it is real."""

from tests.agents.servers.anthropic import AnthropicServer
from tests.agents.servers.base import Scripted
from tests.agents.servers.gemini import GeminiServer
from tests.agents.servers.openai import OpenAIServer

__all__ = ["AnthropicServer", "GeminiServer", "OpenAIServer", "Scripted"]
