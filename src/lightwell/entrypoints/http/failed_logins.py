"""How often each address may show a credential that is not valid. Each process counts for itself."""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Network, ip_address

_MOST_ADDRESSES = 10_000
_MOST_CREDENTIALS = 10_000


@dataclass(kw_only=True)
class FailedLogins:
    """At most `per_minute` failures of an address, all at once or one by one; 0 is no limit.

    Whoever shows a credential that was valid before is not stopped, so that one client behind a proxy does not lock out the others.
    Such credentials are known by a hash, in this process only.
    """

    per_minute: int = 60
    clock: Callable[[], float] = time.monotonic
    _free_at: OrderedDict[str, float] = field(default_factory=OrderedDict[str, float])
    _valid: OrderedDict[bytes, None] = field(default_factory=OrderedDict[bytes, None])

    def wait_seconds(self, address: str, credential: str) -> float:
        """Return how long the address must wait before this credential is checked; 0 for now."""
        if not self.per_minute or _digest(credential) in self._valid:
            return 0.0
        step = 60 / self.per_minute
        ahead = self._free_at.get(_network(address), 0.0) - self.clock()
        return max(0.0, ahead + step - 60)

    def note_failure(self, address: str, credential: str) -> None:
        """Count a failure of the address; a credential that was valid before is not any more."""
        if self.per_minute:
            self._valid.pop(_digest(credential), None)
            network = _network(address)
            free_at = max(self._free_at.pop(network, 0.0), self.clock())
            self._free_at[network] = free_at + 60 / self.per_minute
            _keep(self._free_at, _MOST_ADDRESSES)

    def note_success(self, credential: str) -> None:
        """Remember that the credential is valid."""
        if self.per_minute:
            self._valid[_digest(credential)] = None
            self._valid.move_to_end(_digest(credential))
            _keep(self._valid, _MOST_CREDENTIALS)


def _network(address: str) -> str:
    """Return the network that belongs to one client: of IPv6, where one host has many addresses, the first 64 bits."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv4Address) or parsed.ipv4_mapped:
        return str(getattr(parsed, "ipv4_mapped", None) or parsed)
    return str(IPv6Network((int(parsed), 64), strict=False))


def _digest(credential: str) -> bytes:
    return hashlib.sha256(credential.encode()).digest()


def _keep(entries: "OrderedDict[str, float] | OrderedDict[bytes, None]", most: int) -> None:
    """Forget the oldest entries beyond `most`."""
    while len(entries) > most:
        entries.popitem(last=False)
