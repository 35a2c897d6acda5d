// What stopped attempts: which guard, what it saw, and how long before the stop that began. $ids; columns: attempt, guard, code, observed, limit, firstSeq (null: an older release, or it began elsewhere), onsetMs (null likewise)
UNWIND $ids AS id
MATCH (a:Attempt {id: id, status: "stopped"})-[:TRIGGERED]->(g:GuardEvent {verdict: "stop"})
OPTIONAL MATCH (a)-[:TOOK|CALLED|REPORTED*1..2]->(n)
WHERE n.seq = g.firstSeq
WITH DISTINCT a, g, n
RETURN a.id AS attempt, g.guard AS guard, g.code AS code, g.observed AS observed, g.limit AS limit,
       g.firstSeq AS firstSeq, toFloat(g.at.epochMillis - coalesce(n.startedAt, n.at).epochMillis) AS onsetMs
ORDER BY a.startedAt, a.id, g.seq
