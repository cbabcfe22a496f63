"""Credentials are replaced, and what is none is left alone."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcut.redact import looks_like_credential, redact, redact_bytes

SECRETS = {
    # text: what is left of it
    "ANTHROPIC_API_KEY=sk-ant-dummy claude -p x": "ANTHROPIC_API_KEY=*** claude -p x",
    "export GH_TOKEN='abc def'; x": "export GH_TOKEN='***'; x",
    'A=1 DB_PASSWORD="p w" y': 'A=1 DB_PASSWORD="***" y',
    "AWS_SECRET_ACCESS_KEY=/wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY": "AWS_SECRET_ACCESS_KEY=***",
    "TOKEN=mysecrettoken;y": "TOKEN=***;y",
    "PASSWORD=12345678": "PASSWORD=***",
    "PGPASSWORD=secret psql": "PGPASSWORD=*** psql",
    "DB_PASS=foo": "DB_PASS=***",
    "MY_CREDENTIALS=foo": "MY_CREDENTIALS=***",
    "clientSecret=xyz": "clientSecret=***",
    "apiKey: 'abc'": "apiKey: '***'",
    'password = "hunter2"': 'password = "***"',
    '{"api_key": "hunter2", "n": 1}': '{"api_key": "***", "n": 1}',
    r"{\"api_key\": \"hunter2\"}": r"{\"api_key\": \"***\"}",
    "x --token s3cret y": "x --token *** y",
    "x --api-key=abcd y": "x --api-key=*** y",
    "x --password 'a b' y": "x --password '***' y",
    "//registry.npmjs.org/:_authToken=abc": "//registry.npmjs.org/:_authToken=***",
    "-H 'x-api-key: 1f2e3d'": "-H 'x-api-key: ***'",
    "-H 'Authorization: Bearer abc'": "-H 'Authorization: Bearer ***'",
    "Authorization: Basic dXNlcg==": "Authorization: Basic ***",
    "authorization: abc": "authorization: ***",
    "Bearer 0123456789abcdef": "Bearer ***",
    "https://user:pa:ss@host/x": "https://user:***@host/x",
    "git clone https://ghp_abcdef123456@github.com/x": "git clone https://***@github.com/x",
    "curl 'https://x.y/?token=abc&z=1'": "curl 'https://x.y/?token=***&z=1'",
    "echo sk-proj-abcdEFGH1234": "echo ***",
    "echo AKIAIOSFODNN7EXAMPLE": "echo ***",
    "echo AIzaSyA1234567890abcdefghijklmno": "echo ***",
    "echo xoxb-123456-abcdef": "echo ***",
    "echo glpat-abcdefgh": "echo ***",
    "echo github_pat_11ABCDEFG0_abc": "echo ***",
    "echo npm_abcdefghijklmnopqrstuv": "echo ***",
    "echo hf_abcdefghijklmnopqrst": "echo ***",
    "echo pypi-AgEIcHlwaS5vcmcCJDc4": "echo ***",
    "echo eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sig-x": "echo ***",
    r"log\nsk-ant-api03-AAAA": r"log\n***",
    "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\n-----END RSA PRIVATE KEY-----\nb": "a\n***\nb",
    "-----BEGIN PRIVATE KEY-----\nMIIEabcdefghijklmnopqrst\nand so on": "***and so on",
    r"-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\n": r"***\n",
}

HARMLESS = [
    "",
    "HARNESS_TRIAL=3",
    "MAX_TOKENS=100",
    "--max-tokens 5",
    '"max_tokens": 5',
    "input_tokens=5",
    "TOKENIZERS_PARALLELISM=false",
    "USE_TOKEN=true",
    "sort --key 2",
    "sort --key=2",
    "KEY=$FOO",
    "API_KEY=$FOO",
    'API_KEY="${FOO}"',
    "API_KEY='$FOO'",
    "TOKEN=$(cat x)",
    "TOKEN=`cat x`",
    "--token $T",
    "Authorization: Bearer $T",
    'curl -H "Authorization: Bearer ${T}"',
    "https://user:$PASSWORD@host",
    "--password-stdin",
    "TOKEN_FILE=/run/x",
    "SSH_KEY=~/.ssh/id",
    "API_KEY= ./run",
    '[ "$TOKEN" = x ]',
    'test -n "$API_KEY"',
    "if token == expected",
    "token=token",
    "api_key=get_key()",
    "password=args.password",
    "pytest -k token_test",
    "grep -c secret file",
    "the token is expected",
    "password: must be checked",
    "Bearer of bad news",
    "git clone git@github.com:a/b",
    "https://a.b/c:80/x@y",
    "http://localhost:8080/x",
    "sk-learn-contrib-module",
    "task-with-sk-in-the-name",
    "npm_config_registry=x",
    "hf_hub_download(x)",
    "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
    "-----BEGIN PRIVATE KEY-----",
    "echo ok > out.txt",
    "python -c 'print(1)'",
    "commit 0123456789abcdef0123456789abcdef01234567",
    "TOKEN=***",
]


@pytest.mark.parametrize("text", SECRETS)
def test_secrets_go(text: str) -> None:
    assert redact(text) == (SECRETS[text], True)
    assert redact(SECRETS[text]) == (SECRETS[text], False)
    assert redact_bytes(b"\xff " + text.encode() + b"\n") == (b"\xff " + SECRETS[text].encode() + b"\n", True)


@pytest.mark.parametrize("text", HARMLESS)
def test_the_rest_stays(text: str) -> None:
    assert redact(text) == (text, False)


@pytest.mark.parametrize(
    "text",
    [
        "claude-opus-4-8",
        "anthropic.claude-3-5-sonnet-20241022-v2:0",
        "accounts/fireworks/models/llama-v3p1-405b-instruct",
        "Qwen/Qwen2.5-Coder-32B-Instruct",
        "mistralai/Mixtral-8x22B-Instruct-v0.1",
        "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B",
        "2.1.332",
        "o3",
    ],
)
def test_names_of_models_are_no_credentials(text: str) -> None:
    assert not looks_like_credential(text)


@pytest.mark.parametrize(
    "text",
    [
        "sk-ant-api03-abc",
        "ghp_abcdefghijkl",
        "0123456789abcdef0123456789abcdef",
        "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY",
        "sk-1234567890abcdef",
        "https://u:p@host",
    ],
)
def test_credentials_look_like_it(text: str) -> None:
    assert looks_like_credential(text)


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=80), st.text(max_size=80))
def test_a_key_never_survives(before: str, after: str) -> None:
    key = "sk-ant-api03-0123456789abcdef"
    for text in (f"{before} {key} {after}", f"{before}\n{key}", f"x='{key}'{after}"):
        out, found = redact(text)
        assert found
        assert key not in out


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    out, found = redact_bytes(data)
    assert found == (out != data)
    assert redact_bytes(out) == (out, False)


@pytest.mark.parametrize(
    "unit",
    ["_", "eyJ", "eyJ.", "sk-a", "bearer ", 'token:\\"', "'", "://a:", "://", "A_KEY=$", "--token ", '{"api_key":',
     "a.", "\\", 'TOKEN="a', "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----AAAAAAAAAAAAAAAAAAAA ",
     "-----END PRIVATE KEY-----"],
)  # fmt: skip
def test_half_a_mebibyte_is_redacted_in_linear_time(unit: str) -> None:
    size = 1 << 19
    begin = time.process_time()
    redact((unit * (size // len(unit) + 1))[:size])
    # a quadratic search takes minutes
    assert time.process_time() - begin < 12
