"""A token bucket with burst. One is shared by every role that uses the same endpoint and key."""

from __future__ import annotations

import hashlib
import threading

from agents.chat.endpoint import ModelEndpoint

BURST_S = 60.0  # a full bucket holds what a minute at the rate allows


class TokenBucket:
    """`per_hour` requests an hour, up to `burst` of them at once. Thread-safe; in any span of t seconds it grants at
    most burst + t * rate requests."""

    def __init__(self, per_hour: float, burst: float | None = None) -> None:
        self._rate = per_hour / 3600.0
        self._burst = max(1.0, self._rate * BURST_S if burst is None else burst)
        self._lock = threading.Lock()
        self._tokens = self._burst
        self._at: float | None = None

    def reserve(self, now: float) -> float:
        """Take one token and return the seconds to wait until it is ours (0 when it already is). `now` is monotonic."""
        with self._lock:
            elapsed = 0.0 if self._at is None else max(0.0, now - self._at)
            self._at = now if self._at is None else max(self._at, now)
            self._tokens = min(self._burst, self._tokens + elapsed * self._rate) - 1.0
            return max(0.0, -self._tokens / self._rate)


class RateLimits:
    """The buckets by endpoint and key. The lowest rate asked for an endpoint rules."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._buckets: dict[tuple[str, str], tuple[float, TokenBucket]] = {}

    def bucket(self, endpoint: ModelEndpoint, per_hour: float) -> TokenBucket:
        """The shared bucket; the key is kept only as a hash."""
        name = (endpoint.base_url, hashlib.sha256(endpoint.key.encode()).hexdigest())
        with self._lock:
            known = self._buckets.get(name)
            if known is None or per_hour < known[0]:
                known = self._buckets[name] = (per_hour, TokenBucket(per_hour))
            return known[1]


SHARED = RateLimits()
