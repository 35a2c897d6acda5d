// Purpose: the lookups of hot queries that do not go by id.
// Ready tasks of a plan in plan order: readyKey is `<planId>:<position>` while a task may be claimed, else absent.
CREATE INDEX task_ready IF NOT EXISTS FOR (n:Task) ON (n.readyKey);
// Whose leases to renew.
CREATE INDEX task_lease_owner IF NOT EXISTS FOR (n:Task) ON (n.leaseOwner);
// The claim that a lost acknowledgement left behind.
CREATE INDEX attempt_claim_token IF NOT EXISTS FOR (n:Attempt) ON (n.claimToken);
