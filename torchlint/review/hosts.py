"""Posting a review to GitHub or GitLab, by their client libraries (extra `review`).

Where to post and the token come from the environment that their runners set; the token is handed to the library and
nowhere else. The libraries wait and try again when the host limits the rate; what they log is switched off, for it would
hold the bodies of requests.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ..system.failure import Failure
from .comments import (
    Thread,
    farewell,
    folded,
    for_github,
    for_gitlab,
    github_comment,
    gitlab_note,
    marks,
    standing,
    summary,
    threads,
)
from .run import Review

if TYPE_CHECKING:
    from github import Github
    from gitlab import Gitlab

Name = Literal["github", "gitlab"]
_LONGEST_WAIT = 15 * 60
"""Seconds to wait for a rate limit to be lifted."""
_PART = "torchlint: on these lines."
"""What a part of a review says of itself; the summary follows when all parts are there."""


class MayNotWrite(Failure):
    """The token may read and not write, as in a pull request from a fork."""


@dataclass(frozen=True)
class Posted:
    """What one posting did."""

    new: int
    """Findings that were told now."""
    gone: int = 0
    """Comments that were answered because what they told is gone."""


class Host(Protocol):
    """Where a change is reviewed."""

    @property
    def base(self) -> str | None:
        """The commit or branch that the change is to be merged into, where the runner says so."""

    @property
    def head(self) -> str | None: ...

    def payload(self, review: Review) -> object:
        """What is posted of the review."""

    def post(self, review: Review) -> Posted:
        """Post what is not told yet, and answer what is gone. Raises Failure, MayNotWrite where the token may only read."""


def host(name: Name, environment: Mapping[str, str] = os.environ) -> Host:
    return GitHub(environment) if name == "github" else GitLab(environment)


@dataclass(frozen=True)
class GitHub:
    """A pull request, from the variables of GitHub Actions."""

    environment: Mapping[str, str]

    @property
    def base(self) -> str | None:
        branch = self.environment.get("GITHUB_BASE_REF")
        sha: str | None = self._pull.get("base", {}).get("sha")
        return sha or (f"origin/{branch}" if branch else None)

    @property
    def head(self) -> str | None:
        """The pull request's own commit; what Actions check out is a merge, whose lines are others."""
        sha: str | None = self._pull.get("head", {}).get("sha")
        return sha

    def payload(self, review: Review) -> object:
        return for_github(review)

    def post(self, review: Review) -> Posted:
        try:
            from github import Auth, Github, GithubException, GithubRetry
        except ImportError:
            raise _missing("PyGithub") from None
        token = _needed(self.environment, "GITHUB_TOKEN")
        repository = _needed(self.environment, "GITHUB_REPOSITORY")
        number = self._pull.get("number")
        if number is None:
            raise Failure("no pull request: GITHUB_EVENT_PATH names no event of one (run on `pull_request`)")
        url = f"/repos/{repository}/pulls/{number}"
        _hush("github")
        hub = Github(
            auth=Auth.Token(token),
            base_url=self.environment.get("GITHUB_API_URL", "https://api.github.com"),
            retry=GithubRetry(total=8, max_rate_limit_wait=_LONGEST_WAIT),
            per_page=100,
            lazy=True,
        )
        try:
            pull = hub.get_repo(repository).get_pull(number)
            notes = sorted(pull.get_review_comments(), key=lambda one: one.id)
            lines = standing(one.body or "" for one in notes)
            told = lines | (standing(one.body or "" for one in pull.get_reviews()) - _all(one.body for one in notes))
            left = review.without(told)
            if left.remarks:
                self._review(hub, url, left)
            now = {one.mark for one in review.remarks}
            answered = 0
            for note in notes:
                about = marks(note.body or "")
                if about and about <= lines and not about & now:
                    reply = {"body": farewell(about, review.head)}
                    hub.requester.requestJsonAndCheck("POST", f"{url}/comments/{note.id}/replies", input=reply)
                    answered += 1
        except GithubException as error:
            reason = f"GitHub: {_github_reason(error.status, error.data)}"
            raise (MayNotWrite if _may_only_read(error.status, error.data) else Failure)(reason) from None
        except OSError as error:  # what requests raises is one
            raise Failure(f"GitHub can't be reached: {type(error).__name__}") from None
        finally:
            hub.close()
        return Posted(len(left.remarks), answered)

    def _review(self, hub: Github, url: str, review: Review) -> None:
        """Post a review; a line that GitHub refuses costs its own comment only, which goes into the summary."""
        from github import GithubException

        def send(body: object) -> bool:
            try:
                hub.requester.requestJsonAndCheck("POST", f"{url}/reviews", input=body)
            except GithubException as error:
                if error.status != 422:
                    raise
                return False
            return True

        def refused(parts: Sequence[Thread]) -> list[Thread]:
            """Those that are refused even alone; the others are posted in as few parts as it takes."""
            comments = [github_comment(thread) for thread in parts]
            if not parts or send({"commit_id": review.head, "event": "COMMENT", "body": _PART, "comments": comments}):
                return []
            half = len(parts) // 2
            return [*refused(parts[:half]), *refused(parts[half:])] if half else list(parts)

        if not send(for_github(review)):
            moved = review.folding(mark for thread in refused(threads(review)) for mark in thread.marks)
            body = {**for_github(moved), "comments": []}
            hub.requester.requestJsonAndCheck("POST", f"{url}/reviews", input=body)

    @property
    def _pull(self) -> Any:
        path = self.environment.get("GITHUB_EVENT_PATH")
        if path is None:
            return {}
        try:
            event = json.loads(Path(path).read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise Failure(f"GITHUB_EVENT_PATH={path} can't be read: {error}") from None
        return event.get("pull_request") or {}


def _github_reason(status: int, data: object) -> str:
    message = data.get("message", "") if isinstance(data, dict) else ""
    details = data.get("errors", "") if isinstance(data, dict) else ""
    text = f"{status} {message} {details or ''}".strip()
    if status in (401, 403, 404):
        text += "; the token needs `pull-requests: write`, which it never has in a pull request from a fork"
    return text


def _may_only_read(status: int, data: object) -> bool:
    """Whether GitHub says that this token may not do that, which is not that it is wrong or too busy."""
    return status == 403 and isinstance(data, dict) and "not accessible" in str(data.get("message", ""))


@dataclass(frozen=True)
class GitLab:
    """A merge request, from the variables of GitLab CI."""

    environment: Mapping[str, str]

    @property
    def base(self) -> str | None:
        return self.environment.get("CI_MERGE_REQUEST_DIFF_BASE_SHA")

    @property
    def head(self) -> str | None:
        """The merge request's own commit, which a pipeline for merged results does not check out."""
        return self.environment.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or self.environment.get("CI_COMMIT_SHA")

    def payload(self, review: Review) -> object:
        return for_gitlab(review)

    def post(self, review: Review) -> Posted:
        try:
            from gitlab import Gitlab, GitlabError
        except ImportError:
            raise _missing("python-gitlab") from None
        names = ("GITLAB_TOKEN", "CI_PROJECT_ID", "CI_MERGE_REQUEST_IID", "CI_SERVER_URL")
        token, project, number, server = (_needed(self.environment, name) for name in names)
        url = f"/projects/{project}/merge_requests/{number}"
        _hush("gitlab", "urllib3")
        lab = Gitlab(server, private_token=token, timeout=60)
        try:
            refs: Any = lab.http_get(url)
            discussions: Any = lab.http_list(f"{url}/discussions", get_all=True)
            talks = [(one["id"], one["notes"]) for one in discussions]
            drafts = [one.get("note") or "" for one in lab.http_list(f"{url}/draft_notes", get_all=True)]
            said = [note for _, notes in talks for note in notes]
            texts = [note.get("body") or "" for note in sorted(said, key=lambda note: int(note["id"]))]
            told = standing(texts)
            left = review.without(told | _all(drafts))
            self._notes(lab, url, left, (refs.get("diff_refs") or {}).get("start_sha"))
            if left.remarks or _all(drafts):  # a run that was cut off left some
                lab.http_post(f"{url}/draft_notes/bulk_publish")
            now = {one.mark for one in review.remarks}
            answered = 0
            for talk, notes in talks:
                about = marks(notes[0].get("body") or "")
                if about and about <= told and not about & now and notes[0].get("resolvable"):
                    lab.http_post(f"{url}/discussions/{talk}/notes", post_data={"body": farewell(about, review.head)})
                    lab.http_put(f"{url}/discussions/{talk}", post_data={"resolved": True})
                    answered += 1
        except GitlabError as error:
            hint = "; the token needs the scope `api`" if error.response_code in (401, 403, 404) else ""
            reason = f"GitLab: {error.response_code or ''} {error.error_message}{hint}"
            raise (MayNotWrite if error.response_code == 403 else Failure)(reason) from None
        except OSError as error:
            raise Failure(f"GitLab can't be reached: {type(error).__name__}") from None
        finally:
            lab.session.close()
        return Posted(len(left.remarks), answered)

    def _notes(self, lab: Gitlab, url: str, review: Review, start: str | None) -> None:
        """Draft the notes; a line that GitLab refuses costs its own note only, which goes into the summary."""
        from gitlab import GitlabError

        refused: set[str] = set()
        for thread in threads(review):
            try:
                lab.http_post(f"{url}/draft_notes", post_data=gitlab_note(review, thread, start))
            except GitlabError as error:
                if error.response_code != 400:
                    raise
                refused |= thread.marks
        moved = review.folding(refused)
        if folded(moved):
            lab.http_post(f"{url}/draft_notes", post_data={"note": summary(moved)})


def _all(texts: Any) -> frozenset[str]:
    """The findings that any of these texts is about."""
    return frozenset().union(*(marks(text or "") for text in texts))


def _hush(*libraries: str) -> None:
    for name in libraries:
        logging.getLogger(name).setLevel(logging.WARNING)


def _needed(environment: Mapping[str, str], name: str) -> str:
    if value := environment.get(name):
        return value
    raise Failure(f"{name} is not set in the environment")


def _missing(library: str) -> Failure:
    from ..system import install

    return Failure(f"{library} is not installed; it comes with: {install.command('review', library)}")
