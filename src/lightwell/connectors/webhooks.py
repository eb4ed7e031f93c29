"""What the webhooks of all vendors have in common: a signature over the body, and a body in JSON."""

import hashlib
import hmac
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from lightwell.domain.errors import Invalid, Refused

B = TypeVar("B", bound=BaseModel)


def sign(signed: bytes, secret: str) -> str:
    """Return the signature of what a vendor signs: its HMAC-SHA256 in hex."""
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def require_signature(signature: str, signed: bytes, secret: str, prefix: str = "") -> None:
    """Raise `Refused` unless the signature is genuine; without a secret none is."""
    expected = prefix + sign(signed, secret)
    if not secret or not hmac.compare_digest(signature.encode(), expected.encode()):
        raise Refused("The signature of the webhook is wrong")


def parse_body(vendor: str, model: type[B], body: bytes) -> B:
    """Return the body of a genuine webhook; raise `Invalid` where it is none of the vendor's."""
    try:
        return model.model_validate_json(body)
    except ValidationError:
        raise Invalid(f"This is not a webhook of {vendor}") from None


def digest(body: bytes) -> str:
    """Return what tells a delivery from others, where the vendor gives it no id."""
    return hashlib.sha256(body).hexdigest()
