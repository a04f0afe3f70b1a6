"""Reviews as they arrive at GitHub and GitLab, from the command line on."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.review.conftest import CHANGED
from torchlint import cli

Commit = Callable[..., str]
Post = Callable[..., tuple[int, str, str]]
REVIEW = ["review", "--base=main", "--select=TL101,TL402"]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Post:
    def run(*options: str) -> tuple[int, str, str]:
        code = cli.main([*REVIEW, *options])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def on_github(github_site: Any, show: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """GitHub, in a job of the pull request; `push()` tells it what HEAD is."""
    pytest.importorskip("github")
    monkeypatch.setattr(logging.getLogger("github"), "handlers", [])  # it tells of waits on the stderr of its import
    event = tmp_path / "event.json"

    def push() -> None:
        show(github_site)
        event.write_text(
            json.dumps({"pull_request": {"number": 7, "head": {"sha": github_site.head}, "base": {"sha": "main"}}})
        )

    monkeypatch.setenv("GITHUB_API_URL", github_site.url)
    monkeypatch.setenv("GITHUB_REPOSITORY", "me/it")
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
    monkeypatch.setenv("GITHUB_TOKEN", github_site.token)
    github_site.push = push
    push()
    return github_site


@pytest.fixture
def on_gitlab(gitlab_site: Any, show: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("gitlab")
    gitlab_site.push = lambda: show(gitlab_site)
    variables = {"CI_SERVER_URL": gitlab_site.url, "CI_PROJECT_ID": "3", "CI_MERGE_REQUEST_IID": "7"}
    for name, value in {**variables, "GITLAB_TOKEN": gitlab_site.token}.items():
        monkeypatch.setenv(name, value)
    gitlab_site.push()
    return gitlab_site


class TestPrinted:
    def test_nothing(self, run: Post) -> None:
        assert (0, "All checks passed!\n", "") == run()

    def test_findings(self, run: Post, changed: str) -> None:
        code, out, _ = run("--output-format=concise")
        expected = ["ops.py:5:12", "train.py:12:13", "1 finding on lines that the change affects but does not touch."]
        assert (1, expected) == (code, [line.partition(": TL")[0] for line in out.splitlines()[:3]])

    def test_exit_zero(self, run: Post, changed: str) -> None:
        assert 0 == run("--exit-zero")[0]

    def test_dry_run_asks_nobody(
        self, run: Post, on_github: Any, changed: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("GITHUB_TOKEN")
        on_github.push()
        code, out, _ = run("--post=github", "--dry-run")
        assert (1, []) == (code, on_github.asked)
        assert (changed, "COMMENT") == (json.loads(out)["commit_id"], json.loads(out)["event"])

    def test_dry_run_is_what_is_sent(self, run: Post, on_github: Any, changed: str) -> None:
        on_github.push()
        _, out, _ = run("--post=github", "--dry-run")
        run("--post=github")
        assert [json.loads(out)] == on_github.reviews


class TestGitHub:
    def test_nothing_to_say(self, run: Post, on_github: Any) -> None:
        assert (0, "", "0 findings, 0 of them posted now.\n") == run("--post=github")
        assert [] == on_github.reviews

    def test_one_review(self, run: Post, on_github: Any, changed: str) -> None:
        on_github.push()
        assert (1, "", "2 findings, 2 of them posted now.\n") == run("--post=github")
        (review,) = on_github.reviews
        assert [("train.py", 12)] == [(one["path"], one["line"]) for one in review["comments"]]

    def test_the_same_push_again(self, run: Post, on_github: Any, changed: str) -> None:
        on_github.push()
        run("--post=github")
        assert (1, "", "2 findings, 0 of them posted now.\n") == run("--post=github")
        assert 1 == len(on_github.reviews)

    def test_the_next_push_says_only_what_is_new(
        self, run: Post, on_github: Any, committed: Commit, changed: str
    ) -> None:
        on_github.push()
        run("--post=github")
        text = Path("train.py").read_text()
        committed(train="# a line more\n" + text.replace("    return", "        best = loss.max().item()\n    return"))
        on_github.push()
        run("--post=github")
        assert [("train.py", 18)] == [(one["path"], one["line"]) for one in on_github.reviews[1]["comments"]]
        assert "torchlint: 1 finding." == on_github.reviews[1]["body"]

    def test_what_was_posted_on_a_later_page_is_known(self, run: Post, on_github: Any, changed: str) -> None:
        on_github.push()
        run("--post=github")
        on_github.notes[:0] = [{"id": 1000 + at, "body": "words"} for at in range(250)]
        assert "2 findings, 0 of them posted now.\n" == run("--post=github")[2]

    def test_the_head_of_the_pull_request_not_the_merge(
        self, run: Post, on_github: Any, committed: Commit, changed: str
    ) -> None:
        on_github.push()
        committed(train="import os\n" + Path("train.py").read_text())
        assert 1 == run("--post=github")[0]
        assert changed == on_github.reviews[0]["commit_id"]

    @pytest.mark.parametrize(
        ("status", "headers", "message"),
        [
            (403, {"Retry-After": "0"}, "You have exceeded a secondary rate limit"),
            (403, {"X-RateLimit-Reset": "1"}, "API rate limit exceeded for user"),
            (429, {"Retry-After": "0"}, "Too many requests"),
            (502, {}, "Bad gateway"),
        ],
    )
    def test_tried_again(
        self, run: Post, on_github: Any, changed: str, status: int, headers: Any, message: str
    ) -> None:
        on_github.push()
        on_github.limited = [(status, headers, {"message": message})]
        assert (1, "", "2 findings, 2 of them posted now.\n") == run("--post=github")

    def test_a_wrong_token(self, run: Post, on_github: Any, changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GITHUB_TOKEN", "hunter2")
        code, out, err = run("--post=github")
        hint = "the token needs `pull-requests: write`, which it never has in a pull request from a fork"
        assert (2, "", f"torchlint failed\n  Cause: GitHub: 401 Bad credentials; {hint}\n") == (code, out, err)

    def test_lines_that_are_refused_go_into_the_summary(self, run: Post, on_github: Any, changed: str) -> None:
        on_github.push()
        on_github.lines.clear()
        assert (1, "", "2 findings, 2 of them posted now.\n") == run("--post=github")
        (review,) = on_github.reviews
        assert ([], 2) == (review["comments"], review["body"].count("\n- "))

    def test_a_line_that_is_refused_moves_alone_into_the_summary(
        self, run: Post, on_github: Any, committed: Commit
    ) -> None:
        text = Path("train.py").read_text().replace("        loss =", '        y = y.to("cuda")\n        loss =')
        committed(train=text, other=text, third=text)
        on_github.push()
        on_github.refused.add("other.py")
        assert (1, "", "5 findings, 5 of them posted now.\n") == run("--post=github")
        on_lines = [(one["path"], one["line"]) for review in on_github.reviews for one in review["comments"]]
        assert [("third.py", 12), ("train.py", 12)] == sorted(on_lines)
        (last,) = [one["body"] for one in on_github.reviews if one["body"].startswith("torchlint: 5 findings")]
        assert ["- `other.py:11`", "- `other.py:12`"] == [
            line[: len("- `other.py:11`")] for line in last.splitlines()[4:]
        ]

    def test_a_token_that_may_only_read_prints_annotations(self, run: Post, on_github: Any, changed: str) -> None:
        on_github.push()
        on_github.read_only = True
        code, out, err = run("--post=github")
        assert (1, ["ops.py", "train.py"]) == (
            code,
            [line.partition("file=")[2].partition(",")[0] for line in out.splitlines()],
        )
        assert err.startswith("warning: nothing was posted, the findings are printed instead. GitHub: 403 Resource")

    def test_a_comment_whose_finding_is_gone_is_answered_once(
        self, run: Post, on_github: Any, committed: Commit, changed: str
    ) -> None:
        on_github.push()
        run("--post=github")
        head = committed(train=CHANGED.replace('y.to("cuda")', "y"))
        on_github.push()
        answered = "1 finding, 0 of them posted now. 1 comment answered: gone.\n"
        assert (1, "", answered) == run("--post=github")
        assert on_github.notes[-1]["body"].startswith(f"Gone as of {head[:12]}.")
        assert (1, "", "1 finding, 0 of them posted now.\n") == run("--post=github")

    def test_what_comes_back_is_told_again(self, run: Post, on_github: Any, committed: Commit, changed: str) -> None:
        for text in (CHANGED, CHANGED.replace('y.to("cuda")', "y")):
            committed(train=text)
            on_github.push()
            run("--post=github")
        committed(train=CHANGED)
        on_github.push()
        assert (1, "", "2 findings, 1 of them posted now.\n") == run("--post=github")
        assert (1, "", "2 findings, 0 of them posted now.\n") == run("--post=github")

    def test_neither_token_nor_words_are_logged(
        self, run: Post, on_github: Any, changed: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        on_github.push()
        with caplog.at_level(logging.DEBUG):
            run("--post=github")
        assert not [one for one in ("secret-token", "blocking-h2d-copy") if one in caplog.text]

    def test_refused(self, run: Post, on_github: Any, changed: str) -> None:
        on_github.push()
        on_github.limited = [
            (200, {}, []),
            (200, {}, []),
            *[(422, {}, {"message": "No"})] * 2,
            (422, {}, {"message": "Never"}),
        ]
        assert (2, "", "torchlint failed\n  Cause: GitHub: 422 Never\n") == run("--post=github")

    @pytest.mark.parametrize("name", ["GITHUB_TOKEN", "GITHUB_REPOSITORY"])
    def test_a_variable_is_missing(self, run: Post, on_github: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        monkeypatch.delenv(name)
        assert (2, "", f"torchlint failed\n  Cause: {name} is not set in the environment\n") == run("--post=github")

    def test_no_pull_request(self, run: Post, on_github: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("GITHUB_EVENT_PATH")
        assert "no pull request: GITHUB_EVENT_PATH names no event of one" in run("--post=github")[2]

    def test_an_event_that_is_no_json(self, run: Post, on_github: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        Path("event").write_text("{")
        monkeypatch.setenv("GITHUB_EVENT_PATH", "event")
        assert "GITHUB_EVENT_PATH=event can't be read" in run("--post=github")[2]


class TestGitLab:
    def test_nothing_to_say(self, run: Post, on_gitlab: Any) -> None:
        assert (0, "", "0 findings, 0 of them posted now.\n") == run("--post=gitlab")
        assert [] == on_gitlab.reviews

    def test_one_review(self, run: Post, on_gitlab: Any, changed: str) -> None:
        on_gitlab.push()
        assert (1, "", "2 findings, 2 of them posted now.\n") == run("--post=gitlab")
        ((inline, folded),) = [one["notes"] for one in on_gitlab.reviews]
        assert ("train.py", 12, "the-start") == tuple(
            inline["position"][key] for key in ("new_path", "new_line", "start_sha")
        )
        assert "```suggestion:-0+0\n" in inline["note"]
        assert "position" not in folded

    def test_the_same_push_again(self, run: Post, on_gitlab: Any, changed: str) -> None:
        on_gitlab.push()
        run("--post=gitlab")
        assert (1, "", "2 findings, 0 of them posted now.\n") == run("--post=gitlab")
        assert 1 == len(on_gitlab.reviews)

    def test_drafts_of_a_run_that_was_cut_off_are_published(self, run: Post, on_gitlab: Any, changed: str) -> None:
        on_gitlab.push()
        run("--post=gitlab")
        on_gitlab.drafts = on_gitlab.reviews.pop()["notes"]
        on_gitlab.notes.clear()
        assert (1, "", "2 findings, 0 of them posted now.\n") == run("--post=gitlab")
        assert (1, []) == (len(on_gitlab.reviews), on_gitlab.drafts)

    def test_tried_again(self, run: Post, on_gitlab: Any, changed: str) -> None:
        on_gitlab.push()
        on_gitlab.limited = [(429, {"Retry-After": "0"}, {"message": "slow down"})]
        assert (1, "", "2 findings, 2 of them posted now.\n") == run("--post=gitlab")

    def test_a_line_that_is_refused_moves_alone_into_the_summary(
        self, run: Post, on_gitlab: Any, committed: Commit
    ) -> None:
        text = Path("train.py").read_text().replace("        loss =", '        y = y.to("cuda")\n        loss =')
        committed(train=text, other=text)
        on_gitlab.push()
        on_gitlab.refused.add("other.py")
        assert (1, "", "3 findings, 3 of them posted now.\n") == run("--post=gitlab")
        ((inline, folded),) = [one["notes"] for one in on_gitlab.reviews]
        assert ("train.py", 12) == (inline["position"]["new_path"], inline["position"]["new_line"])
        assert 2 == folded["note"].count("- `other.py:")

    def test_a_discussion_whose_finding_is_gone_is_answered_and_resolved(
        self, run: Post, on_gitlab: Any, committed: Commit, changed: str
    ) -> None:
        on_gitlab.push()
        run("--post=gitlab")
        committed(train=CHANGED.replace('y.to("cuda")', "y"))
        on_gitlab.push()
        assert (1, "", "1 finding, 0 of them posted now. 1 comment answered: gone.\n") == run("--post=gitlab")
        assert (1, "", "1 finding, 0 of them posted now.\n") == run("--post=gitlab")
        assert ["d0"] == on_gitlab.resolved
        committed(train=CHANGED)
        on_gitlab.push()
        assert (1, "", "2 findings, 1 of them posted now.\n") == run("--post=gitlab")

    def test_a_token_that_may_only_read_prints_the_findings(self, run: Post, on_gitlab: Any, changed: str) -> None:
        on_gitlab.push()
        on_gitlab.read_only = True
        code, out, err = run("--post=gitlab", "--output-format=concise")
        assert (1, ["ops.py:5:12", "train.py:12:13"]) == (
            code,
            [line.partition(": TL")[0] for line in out.splitlines()[:2]],
        )
        assert err.startswith(
            "warning: nothing was posted, the findings are printed instead. GitLab: 403 403 Forbidden"
        )

    def test_neither_token_nor_words_are_logged(
        self, run: Post, on_gitlab: Any, changed: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        on_gitlab.push()
        with caplog.at_level(logging.DEBUG):
            run("--post=gitlab")
        assert not [one for one in ("secret-token", "blocking-h2d-copy") if one in caplog.text]

    def test_a_wrong_token(self, run: Post, on_gitlab: Any, changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GITLAB_TOKEN", "hunter2")
        expected = "torchlint failed\n  Cause: GitLab: 401 401 Unauthorized; the token needs the scope `api`\n"
        assert (2, "", expected) == run("--post=gitlab")

    def test_a_missing_token(self, run: Post, on_gitlab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("GITLAB_TOKEN")
        assert (2, "", "torchlint failed\n  Cause: GITLAB_TOKEN is not set in the environment\n") == run(
            "--post=gitlab"
        )


def test_no_base(capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == cli.main(["review"])
    expected = (
        "torchlint failed\n  Cause: what is the change compared with? Give `--base`, such as `--base origin/main`\n"
    )
    assert expected == capsys.readouterr().err


def test_dry_run_without_a_host(run: Post) -> None:
    assert (2, "torchlint failed\n  Cause: `--dry-run` shows what `--post` would send; say where to\n") == run(
        "--dry-run"
    )[::2]


def test_nobody_there(run: Post, on_github: Any, changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")
    assert (2, "torchlint failed\n  Cause: GitHub can't be reached: ConnectionError\n") == run("--post=github")[::2]
