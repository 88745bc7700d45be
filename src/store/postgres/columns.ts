import { isQuarantined } from './claims.ts'

/** Columns under the names the driver gives them, so that a row of the result is what is returned. */
export const eventColumns = 'seq, at, type, content'

export const summaryColumns = 'from_seq AS "fromSeq", to_seq AS "toSeq", content, version, base'

/** Of the table `conversations` under the alias c. */
export const conversationColumns = `
  id, kind, agent, status, settings, fsm_state AS "fsmState", title, parent, last_seq AS "lastSeq",
  created_at AS "createdAt", updated_at AS "updatedAt", CASE WHEN ${isQuarantined} THEN claimed_at END AS "quarantinedAt",
  CASE WHEN ${isQuarantined} THEN epoch END AS "quarantineEpoch"`

/** Of the table `calls` under the alias t. */
export const callColumns = `
  t.id, t.conversation_id AS "conversationId", t.name, t.executor, t.status, t.args, t.result, t.round, t.kind, t.prompt,
  t.expires_at AS "expiresAt", t.created_at AS "createdAt", t.resolved_at AS "resolvedAt", t.resolved_seq AS "resolvedSeq"`

/** As `conversationColumns` and `callColumns` name them. */
export const conversationNames =
  'id, kind, agent, status, settings, "fsmState", title, parent, "lastSeq", "createdAt", "updatedAt", "quarantinedAt", "quarantineEpoch"'

export const callNames = `id, "conversationId", name, executor, status, args, result, round, kind, prompt, "expiresAt", "createdAt", "resolvedAt",
  "resolvedSeq"`
