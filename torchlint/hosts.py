"""Posting a review to GitHub or GitLab, by their client libraries (extra `review`).

Where to post and the token come from the environment that their runners set; the token is handed to the library and
nowhere else. The libraries wait and try again when the host limits the rate.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from .failure import Failure
from .review import Review, for_github, for_gitlab, marks

Name = Literal["github", "gitlab"]
_LONGEST_WAIT = 15 * 60
"""Seconds to wait for a rate limit to be lifted."""


class Host(Protocol):
    """Where a change is reviewed."""

    @property
    def base(self) -> str | None:
        """The commit or branch that the change is to be merged into, where the runner says so."""

    @property
    def head(self) -> str | None: ...

    def payload(self, review: Review) -> object:
        """What is posted of the review."""

    def post(self, review: Review) -> int:
        """Post what was not posted before, as one review; how many remarks that were. Raises Failure."""


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

    def post(self, review: Review) -> int:
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
        retry = GithubRetry(total=8, max_rate_limit_wait=_LONGEST_WAIT)
        hub = Github(
            auth=Auth.Token(token),
            base_url=self.environment.get("GITHUB_API_URL", "https://api.github.com"),
            retry=retry,
            per_page=100,
            lazy=True,
        )
        try:
            pull = hub.get_repo(repository).get_pull(number)
            texts = [one.body or "" for one in (*pull.get_review_comments(), *pull.get_reviews())]
            left = review.without(marks(texts))
            if left.remarks:
                try:
                    hub.requester.requestJsonAndCheck("POST", f"{url}/reviews", input=for_github(left))
                except GithubException as error:
                    if error.status != 422:
                        raise
                    # One line that GitHub doesn't show costs the whole review: a diff too large, a newer push.
                    hub.requester.requestJsonAndCheck("POST", f"{url}/reviews", input=for_github(left.summed_up()))
        except GithubException as error:
            raise Failure(f"GitHub: {_github_reason(error.status, error.data)}") from None
        except OSError as error:  # what requests raises is one
            raise Failure(f"GitHub can't be reached: {type(error).__name__}") from None
        finally:
            hub.close()
        return len(left.remarks)

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

    def post(self, review: Review) -> int:
        try:
            from gitlab import Gitlab, GitlabError
        except ImportError:
            raise _missing("python-gitlab") from None
        names = ("GITLAB_TOKEN", "CI_PROJECT_ID", "CI_MERGE_REQUEST_IID", "CI_SERVER_URL")
        token, project, number, server = (_needed(self.environment, name) for name in names)
        url = f"/projects/{project}/merge_requests/{number}"
        lab = Gitlab(server, private_token=token, timeout=60)
        try:
            refs: Any = lab.http_get(url)
            notes = [one.get("body") or "" for one in lab.http_list(f"{url}/notes", get_all=True)]
            drafts = [one.get("note") or "" for one in lab.http_list(f"{url}/draft_notes", get_all=True)]
            left = review.without(marks([*notes, *drafts]))
            for payload in for_gitlab(left, start=(refs.get("diff_refs") or {}).get("start_sha")):
                lab.http_post(f"{url}/draft_notes", post_data=payload)
            if left.remarks or marks(drafts):  # a run that was cut off left some
                lab.http_post(f"{url}/draft_notes/bulk_publish")
        except GitlabError as error:
            hint = "; the token needs the scope `api`" if error.response_code in (401, 403, 404) else ""
            raise Failure(f"GitLab: {error.response_code or ''} {error.error_message}{hint}") from None
        except OSError as error:
            raise Failure(f"GitLab can't be reached: {type(error).__name__}") from None
        finally:
            lab.session.close()
        return len(left.remarks)


def _needed(environment: Mapping[str, str], name: str) -> str:
    if value := environment.get(name):
        return value
    raise Failure(f"{name} is not set in the environment")


def _missing(library: str) -> Failure:
    return Failure(f"{library} is not installed; it comes with: pip install 'torchlint[review]'")
