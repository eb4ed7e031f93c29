"""How GitHub's objects read as Markdown documents."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import quote

from lightwell.connectors.github.models import Comment, Issue, Repository, Review, TreeEntry, User
from lightwell.connectors.github.structure import (
    SYSTEM,
    Repositories,
    StructureBuilder,
    describe_issue,
    describe_repository,
    describe_user,
    file_ref,
    find_references,
    issue_name,
    issue_ref,
    repository_ref,
    repository_tags,
    state_places,
    state_references,
    state_user,
)
from lightwell.connectors.item_documents import (
    ItemText,
    field_lines,
    make_item_document,
    one_line,
    plain_paragraphs,
)
from lightwell.connectors.rows import Json
from lightwell.domain.documents import Format, WorkState
from lightwell.domain.errors import Unreadable
from lightwell.domain.ids import global_ref
from lightwell.domain.item_structure import ItemStructure, LinkType, StatedEntity, StatedLink
from lightwell.domain.source_items import SourceItem
from lightwell.ingest.parse import is_blank
from lightwell.ingest.parse.formats import detect_format

PART_POSTS = 100
_GHOST = "a deleted account"
_VERDICTS = {
    "APPROVED": "approved",
    "CHANGES_REQUESTED": "requested changes",
    "DISMISSED": "review dismissed",
    "COMMENTED": "",
}
_REPOSITORY_FIELDS = frozenset(
    ("id", "full_name", "html_url", "description", "homepage", "default_branch", "topics")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A comment or review in a thread. `relation` is what its author is to the issue."""

    entity: StatedEntity
    author: User | None
    at: datetime
    text: str
    note: str = ""
    relation: str = "commenter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """An issue or pull request with what was written below it, the oldest first. `raw` is GitHub's record of the issue."""

    repository: Repository
    issue: Issue
    raw: Json
    posts: Sequence[Post]

    @property
    def is_pull(self) -> bool:
        return self.issue.pull_request is not None


def make_comment(comment: Comment) -> Post:
    kind, note = ("review_comment", f"on {comment.path}") if comment.path else ("comment", "")
    return Post(
        entity=StatedEntity(
            ref=global_ref(SYSTEM, kind, str(comment.id)),
            kind="comment",
            name=f"Comment {comment.id}",
            url=comment.html_url,
        ),
        author=comment.user,
        at=comment.created_at,
        text=comment.body or "",
        note=note,
    )


def make_review(review: Review) -> Post | None:
    """Return a review that says something, None for one that is pending, or only holds comments on lines."""
    verdict = _VERDICTS.get(review.state, "")
    if review.submitted_at is None or not (verdict or (review.body or "").strip()):
        return None
    return Post(
        entity=StatedEntity(
            ref=global_ref(SYSTEM, "review", str(review.id)),
            kind="review",
            name=f"Review {review.id}",
            url=review.html_url,
        ),
        author=review.user,
        at=review.submitted_at,
        text=review.body or "",
        note=verdict,
        relation="reviewer",
    )


def make_thread(thread: Thread, repositories: Repositories) -> SourceItem:
    """Return the item: one document, and another for each further hundred comments, so that a new one changes the last."""
    ref = issue_ref(thread.repository.id, thread.issue.number)
    starts = range(0, max(1, len(thread.posts)), PART_POSTS)
    documents = tuple(
        make_item_document(
            _make_part(thread, thread.posts[start : start + PART_POSTS], number, repositories)
        )
        for number, start in enumerate(starts)
    )
    return SourceItem(ref=ref, documents=documents)


def make_repository(repository: Repository, raw: Json) -> SourceItem:
    ref = repository_ref(repository.id)
    text = field_lines(
        (
            ("Repository", repository.full_name),
            ("Description", repository.description or ""),
            ("Homepage", repository.homepage or ""),
            ("Topics", ", ".join(sorted(repository.topics))),
            ("Language", repository.language or ""),
            ("Archived", "yes" if repository.archived else ""),
        )
    )
    owner = repository.owner
    link = StatedLink(
        source=ref, target=describe_user(owner).ref, type=LinkType.BELONGS_TO, relation="owner"
    )
    document = ItemText(
        system=SYSTEM,
        kind="repository",
        source_id=str(repository.id),
        item_ref=ref,
        url=repository.html_url,
        title=f"Repository {repository.full_name}",
        text=text,
        tags=repository_tags(repository.id),
        structure=ItemStructure(
            entities=(describe_repository(repository), describe_user(owner)), links=(link,)
        ),
        payload={name: value for name, value in raw.items() if name in _REPOSITORY_FIELDS},
    )
    return SourceItem(ref=ref, documents=(make_item_document(document),))


def make_file(repository: Repository, entry: TreeEntry, content: bytes) -> SourceItem:
    """Return a file of the default branch: Markdown as a text, any other format as the file itself; raise `Unreadable`."""
    if is_blank(content):
        raise Unreadable("empty", "the file is empty")
    format_ = detect_format(entry.path, content)
    is_text = format_ is Format.MARKDOWN
    ref = file_ref(repository.id, entry.path)
    url = f"{repository.html_url}/blob/{quote(repository.default_branch)}/{quote(entry.path)}"
    entity = StatedEntity(
        ref=ref, kind="file", name=f"{repository.full_name}/{one_line(entry.path)}", url=url
    )
    home = describe_repository(repository)
    link = StatedLink(source=ref, target=home.ref, type=LinkType.BELONGS_TO, relation="repository")
    document = ItemText(
        system=SYSTEM,
        kind="file",
        source_id=f"{repository.id}/{entry.path}",
        item_ref=ref,
        url=url,
        title=f"{entry.path} in {repository.full_name}",
        text=_decode(content) if is_text else "",
        tags=repository_tags(repository.id),
        structure=ItemStructure(entities=(entity, home), links=(link,)),
        metadata={"path": entry.path, "repository": repository.full_name},
        payload={"path": entry.path, "sha": entry.sha},
        fingerprint="" if is_text else entry.sha,
    )
    made = make_item_document(document)
    if not is_text:
        made = replace(made, content=content, format=format_, is_file=True)
    return SourceItem(ref=ref, documents=(made,))


def _decode(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable("encoding", "The file is not UTF-8") from error


def _make_part(
    thread: Thread, posts: Sequence[Post], number: int, repositories: Repositories
) -> ItemText:
    repository, issue = thread.repository, thread.issue
    name, ref = issue_name(repository, issue.number), issue_ref(repository.id, issue.number)
    suffix = f", part {number + 1}" if number else ""
    head = "" if number else _describe(thread)
    sections = [plain_paragraphs(issue.body or "")] if not number else []
    sections += _write_posts(posts)
    author = issue.user
    return ItemText(
        system=SYSTEM,
        kind="pull-request" if thread.is_pull else "issue",
        source_id=f"{repository.id}-{issue.number}" + (f"-{number + 1}" if number else ""),
        item_ref=ref,
        url=issue.html_url + (f"#part-{number + 1}" if number else ""),
        title=f"{name}: {one_line(issue.title)}{suffix}",
        text="\n\n".join(part for part in (head, *sections) if part),
        tags=repository_tags(repository.id),
        structure=_state(thread, posts, repositories, is_first=not number),
        author=author.login if author else "",
        author_ref=describe_user(author).ref if author else "",
        created_at=posts[0].at if number and posts else issue.created_at,
        updated_at=issue.updated_at,
        metadata={
            "status": _status(issue),
            "labels": ", ".join(sorted(one_line(label.name) for label in issue.labels)),
            "repository": repository.full_name,
        },
        payload=thread.raw if not number else {},
        work_state=WorkState.CLOSED if issue.state == "closed" else WorkState.OPEN,
    )


def _describe(thread: Thread) -> str:
    issue = thread.issue
    label = "Pull request" if thread.is_pull else "Issue"
    return field_lines(
        (
            (label, issue_name(thread.repository, issue.number)),
            ("Title", issue.title),
            ("Status", _status(issue)),
            ("Author", issue.user.login if issue.user else _GHOST),
            ("Assignees", ", ".join(sorted(assignee.login for assignee in issue.assignees))),
            ("Labels", ", ".join(sorted(label.name for label in issue.labels))),
            ("Milestone", issue.milestone.title if issue.milestone else ""),
            ("Opened", _moment(issue.created_at)),
            ("Closed", _moment(issue.closed_at) if issue.closed_at else ""),
        )
    )


def _status(issue: Issue) -> str:
    if issue.pull_request is not None and issue.pull_request.merged_at:
        return "merged"
    if issue.state_reason and issue.state == "closed":
        return f"closed ({issue.state_reason.replace('_', ' ')})"
    return issue.state


def _write_posts(posts: Sequence[Post]) -> Iterator[str]:
    for post in posts:
        name = post.author.login if post.author else _GHOST
        note = f", {one_line(post.note)}" if post.note else ""
        yield f"## {name}, {_moment(post.at)}{note}"
        yield plain_paragraphs(post.text)


def _state(
    thread: Thread, posts: Sequence[Post], repositories: Repositories, *, is_first: bool
) -> ItemStructure:
    """Return what a part states; only the first states what belongs to the issue itself."""
    repository, issue = thread.repository, thread.issue
    builder = StructureBuilder(describe_issue(repository, issue))
    texts = [post.text for post in posts]
    if is_first:
        builder.add(state_places(repository, issue))
        # GitHub closes issues by the words of the pull request itself, and not of comments.
        references = find_references(f"{issue.title}\n{issue.body or ''}", repository, repositories)
        builder.add(state_references(references, is_pull=thread.is_pull))
    for post in posts:
        builder.add_part(post.entity, "comment" if post.relation == "commenter" else "review")
        builder.add(state_user(post.author, "author"), source=post.entity.ref)
        if post.relation == "reviewer":
            builder.add(state_user(post.author, "reviewer"))
    named = [
        reference for text in texts for reference in find_references(text, repository, repositories)
    ]
    builder.add(state_references(named, is_pull=False))
    return builder.build()


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
