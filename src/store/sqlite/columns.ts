import { quarantineHolder, quarantineUntil } from '../lease.ts'

/** Read from the log, so that the row cannot disagree with it and a commit that only appends need not write the row. */
export const lastSeq = 'coalesce((SELECT max(seq) FROM events WHERE events.cid = conversations.cid), 0)'
export const lastAt =
  'coalesce((SELECT at FROM events WHERE events.cid = conversations.cid ORDER BY seq DESC LIMIT 1), 0)'

export const isQuarantined = `(conversations.lease_holder = '${quarantineHolder}' AND conversations.lease_until = ${quarantineUntil})`
export const quarantinedAt = `CASE WHEN ${isQuarantined} THEN conversations.claimed_at END AS quarantinedAt`

/** The columns of a `StoredConversation`. */
export const recordColumns = `id, kind, agent, owner, status, settings, fsm_state AS fsmState, title, parent, ${lastSeq} AS lastSeq,
  created_at AS createdAt, max(updated_at, ${lastAt}) AS updatedAt, ${quarantinedAt},
  CASE WHEN ${isQuarantined} THEN lease_epoch END AS quarantineEpoch`

/** How many calls wait for an answer. An index lookup for each row. */
export const waiting = `(SELECT count(*) FROM calls WHERE calls.cid = conversations.cid AND calls.status = 'pending'
  AND calls.kind <> 'sub_agent') AS waiting`
