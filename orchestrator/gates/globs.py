"""The scope gate's globs (R4.11). They live in the domain, because guards and pre-flight read them as well."""

from orchestrator.domain.globs import NEW_ONLY, allows, literal, matches, matches_any

__all__ = ["NEW_ONLY", "allows", "literal", "matches", "matches_any"]
