"""People, groups and API keys as JSON, with the keys that HTTP uses."""

from lightwell.domain.access_explanations import AccessExplanation
from lightwell.domain.api_keys import ApiKey
from lightwell.domain.directory import Group, Person
from lightwell.entrypoints.json_output import Json


def person(person: Person) -> Json:
    """Return a person: `aclTags` are the person's own tags, `currentTags` those with the groups' tags."""
    return {
        "personId": str(person.id),
        "email": person.email or None,
        "displayName": person.display_name,
        "externalIds": dict(sorted(person.external_ids.items())),
        "aclTags": sorted(person.acl_tags),
        "groups": list(person.groups),
        "currentTags": sorted(person.tags),
        "active": person.active,
        "createdAt": person.created_at.isoformat(),
    }


def group(group: Group) -> Json:
    return {
        "groupId": str(group.id),
        "name": group.name,
        "aclTags": sorted(group.acl_tags),
        "members": group.members,
    }


def access_explanation(explanation: AccessExplanation) -> Json:
    document = explanation.document
    return {
        "visible": explanation.visible,
        "document": {
            "documentId": str(document.id),
            "documentUrl": document.url,
            "aclTags": sorted(document.acl_tags),
            "state": document.state,
        },
        "tags": [
            {"tag": each.tag, "from": each.kind, "name": each.name or None, "shared": each.shared}
            for each in explanation.origins
        ],
        "obstacles": [each.value for each in explanation.obstacles],
    }


def api_key(key: ApiKey) -> Json:
    """Return a key without its secret."""
    return {
        "keyId": str(key.id),
        "name": key.name,
        "scopes": sorted(key.scopes),
        "aclTags": sorted(key.acl_tags),
        "personId": str(key.person) if key.person else None,
        "createdAt": key.created_at.isoformat(),
        "expiresAt": key.expires_at.isoformat() if key.expires_at else None,
        "lastUsedAt": key.last_used_at.isoformat() if key.last_used_at else None,
        "revokedAt": key.revoked_at.isoformat() if key.revoked_at else None,
    }
