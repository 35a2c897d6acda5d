// What was held against an attempt: what an answer of QC lacked is nothing against the work, unless it ended it. $attempt; columns: id, code, severity, message, required_fix, locus, source
MATCH (a:Attempt {id: $attempt})-[:FOUND|REVIEWED_BY|RAISED*1..2]->(f:Finding)
WHERE a.stopReason = "review_error" OR NOT f.code IN ["criterion_unjudged", "criterion_unproven", "evidence_false"]
RETURN DISTINCT f.id AS id, f.code AS code, f.severity AS severity, f.message AS message,
       f.requiredFix AS required_fix, f.locus AS locus, f.source AS source
ORDER BY source, code, locus, id
