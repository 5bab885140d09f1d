"""Where packages come from, and what is said when they cannot be installed."""

from pathlib import Path

import pytest

from dyn_cli.setup import packages
from dyn_cli.setup.errors import SetupError, explain


@pytest.mark.parametrize(
    ("missing", "named"), [(("venv",), "venv"), (("pip", "ensurepip"), "ensurepip"), (("ensurepip",), None)]
)
def test_a_missing_module_is_named(
    monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...], named: str | None
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name in missing else name)
    if named is None:
        packages.check_modules()
    else:
        with pytest.raises(SetupError, match=rf"no `{named}` module: .* apt install python3\.\d+-venv"):
            packages.check_modules()


@pytest.mark.parametrize("has_pip", [True, False])
def test_uv_comes_by_the_pip_that_is_there(monkeypatch: pytest.MonkeyPatch, has_pip: bool) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name if has_pip else None)
    labels: list[str] = []
    packages.make_venv(lambda label, *_: labels.append(label), Path("/v"), "python3", see_system=False)
    assert labels == ["making a Python environment", *([] if has_pip else ["adding pip"]), "fetching uv"]


def test_uv_takes_the_indexes_that_pip_is_configured_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pip = tmp_path / "bin" / "python"
    pip.parent.mkdir()
    pip.write_text(
        "#!/bin/sh\ncat <<'END'\n"
        ":env:.index-url='https://env.invalid/simple'\nglobal.index-url='https://global.invalid/simple'\n"
        "global.extra-index-url='\\nfile:///a\\nfile:///b'\ninstall.find-links='/c /d'\nglobal.cert='/e.pem'\nEND\n"
    )
    pip.chmod(0o755)
    (tmp_path / "dyn").mkdir()
    for name in ("UV_INDEX", "UV_DEFAULT_INDEX", "UV_FIND_LINKS", "UV_INSECURE_HOST", "PIP_TARGET"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", "/mine.pem")
    monkeypatch.setenv("PIP_TARGET", "/elsewhere")
    env: dict[str, str] = {}
    packages.install(lambda _, __, variables: env.update(variables), tmp_path, tmp_path, ["core"])
    assert env["UV_DEFAULT_INDEX"] == "https://env.invalid/simple"
    assert env["UV_INDEX"] == "file:///a file:///b"
    assert env["UV_FIND_LINKS"] == "/c,/d"
    assert env["SSL_CERT_FILE"] == "/mine.pem", "what is set for uv itself wins"
    assert not {"UV_INSECURE_HOST", "PIP_TARGET"} & env.keys()


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("OSError: [Errno 13] Permission denied: 'x'", "cannot be written"),
        (
            "WARNING: Retrying (Retry(total=1)) after connection broken by 'NewConnectionError'\n"
            "ERROR: No matching distribution found for uv==1.0.0",
            "package index cannot be reached",
        ),
        (
            "error: Request failed after 3 retries\n  cause: Failed to fetch: x\n  cause: dns error",
            "package index cannot be reached",
        ),
        (
            "error: No solution found when resolving dependencies\n"
            "  cause: Because ros-rclpy==7.1.6 has no wheels with a matching Python ABI tag (e.g., `cp315`)",
            "no ready-made package ros-rclpy==7.1.6",
        ),
        ("error: a\n  cause: Hash mismatch for `b`\n\n  Expected: c", "Hash mismatch for `b`"),
        ("a.c:1: error: bad\nninja: build stopped: subcommand failed.", "a.c:1: error: bad"),
        ("", "no output"),
    ],
)
def test_a_failed_command_is_explained_in_one_sentence(tmp_path: Path, output: str, sentence: str) -> None:
    with pytest.raises(SetupError) as caught:
        explain("installing", output, tmp_path)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
