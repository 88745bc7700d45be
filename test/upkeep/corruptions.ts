import type { FindingCode } from '../../src/upkeep/finding.ts'

/** How two backends name the same things. Statements are plain SQL without parameters. */
export type Dialect = {
  readonly name: 'sqlite' | 'postgres'
  /** The name of a table. */
  table(name: 'conversations' | 'calls' | 'summaries' | 'events' | 'blob_refs' | 'blobs' | 'keys'): string
  /** A condition on rows of the tables that belong to a conversation of tenant 'default'. */
  of(id: string): string
  readonly callId: string
}

export type Corruption = {
  readonly what: string
  readonly code: FindingCode
  /** The conversation it is found in; null when it is about none. */
  readonly id: string | null
  readonly sql: string
}

/** Every derived column and table, corrupted in the ways it can be. `callIds`: of a call of 'waiting' (pending) and one of 'answered' (ended). */
export function derivedCorruptions(
  { table, of, callId, name }: Dialect,
  { pending, ended }: { readonly pending: string; readonly ended: string },
): Corruption[] {
  const column = (id: string, assignment: string, code: FindingCode): Corruption => ({
    what: `${id}: ${assignment}`,
    code,
    id,
    sql: `UPDATE ${table('conversations')} SET ${assignment} WHERE tenant = 'default' AND id = '${id}'`,
  })
  const call = (id: string, of: string, assignment: string, code: FindingCode = 'call_row_differs'): Corruption => ({
    what: `call of ${of}: ${assignment}`,
    code,
    id: of,
    sql: `UPDATE ${table('calls')} SET ${assignment} WHERE tenant = 'default' AND ${callId} = '${id}'`,
  })
  const children = `SELECT id FROM ${table('conversations')} WHERE tenant = 'default' AND child_of = 'family'`
  const common: Corruption[] = [
    column('denied', 'fsm_state = NULL', 'fsm_state_differs'),
    column('plain', "fsm_state = 'garbage'", 'fsm_state_differs'),
    column('waiting', `fsm_state = '{"state":"idle","pending":[],"lastSeq":3}'`, 'fsm_state_differs'),
    column('waiting', `fsm_state = '{"state":"idle","pending":[],"lastSeq":99}'`, 'fsm_state_differs'),
    column('session-done', `fsm_state = '{"state":"idle","pending":[],"lastSeq":3}'`, 'fsm_state_differs'),
    // True of the seq it names, and behind what the owner has written since.
    column('plain', `fsm_state = '{"state":"running","pending":[],"lastSeq":1}'`, 'fsm_state_differs'),
    column('waiting', "status = 'idle'", 'status_differs'),
    column('plain', "status = 'ended'", 'status_differs'),
    column('due', "status = 'suspended'", 'status_differs'),
    column('fork-waiting', "status = 'active'", 'status_differs'),
    column('session-done', "status = 'idle'", 'status_differs'),
    column('session-waiting', "status = 'active'", 'status_differs'),
    column('answered', `title = '"Wrong"'`, 'title_differs'),
    column('answered', 'title = NULL', 'title_differs'),
    column('plain', 'owner = NULL', 'owner_missing'),
    column('session-done', 'owner = NULL', 'owner_missing'),
    column('plain', "child_of = 'family'", 'child_of_differs'),
    {
      what: 'a child is not filed as one',
      code: 'child_of_differs',
      id: 'child',
      sql: `UPDATE ${table('conversations')} SET child_of = NULL WHERE tenant = 'default' AND id IN (${children})`,
    },
    column('due', 'wake_at = NULL', 'wake_up_missing'),
    column('due', 'wake_at = 99999999999999', 'wake_up_missing'),
    column('session-done', "kind = 'conversation'", 'kind_differs'),
    column('plain', "kind = 'flow'", 'kind_differs'),
    call(pending, 'waiting', "status = 'resolved'"),
    call(pending, 'waiting', 'name = \'"x"\''),
    call(pending, 'waiting', "args = '{}'"),
    call(pending, 'waiting', 'prompt = NULL'),
    call(pending, 'waiting', "executor = 'client'"),
    call(pending, 'waiting', "kind = 'recovery'"),
    call(pending, 'waiting', 'created_at = 7'),
    call(pending, 'waiting', 'expires_at = 7', 'deadline_differs'),
    call(pending, 'waiting', 'expires_at = NULL', 'deadline_differs'),
    call(ended, 'answered', "status = 'pending'"),
    call(ended, 'answered', 'result = NULL'),
    call(ended, 'answered', 'round = 7'),
    call(ended, 'answered', 'resolved_at = 7'),
    call(ended, 'answered', 'resolved_seq = NULL'),
    {
      what: 'rows of calls are gone',
      code: 'call_row_missing',
      id: 'answered',
      sql: `DELETE FROM ${table('calls')} WHERE ${of('answered')}`,
    },
    {
      what: 'rows of the calls of a fork are gone',
      code: 'call_row_missing',
      id: 'fork-waiting',
      sql: `DELETE FROM ${table('calls')} WHERE ${of('fork-waiting')}`,
    },
    {
      what: 'a base is not JSON',
      code: 'summary_base_differs',
      id: 'long',
      sql: `UPDATE ${table('summaries')} SET base = 'garbage' WHERE ${of('long')}`,
    },
    {
      what: 'a base is of another state',
      code: 'summary_base_differs',
      id: 'long',
      sql: `UPDATE ${table('summaries')} SET base = '{"lastSeq":1,"title":null,"seed":null,"turns":[]}' WHERE ${of('long')}`,
    },
    {
      what: 'a ref to a blob is gone',
      code: 'blob_ref_missing',
      id: 'plain',
      sql: `DELETE FROM ${table('blob_refs')} WHERE ${of('plain')}`,
    },
    {
      what: 'a ref to a blob is of another seq',
      code: 'blob_ref_differs',
      id: 'plain',
      sql: `UPDATE ${table('blob_refs')} SET first_seq = 3 WHERE ${of('plain')}`,
    },
  ]
  return [...common, ...(name === 'sqlite' ? sqliteOnly(of) : postgresOnly(table))]
}

function sqliteOnly(of: Dialect['of']): Corruption[] {
  return [
    {
      what: 'a row of a call that was never made',
      code: 'call_row_unlogged',
      id: 'plain',
      sql: `INSERT INTO calls (tenant, call_id, cid, status, round, kind, executor, created_at, name, args)
        SELECT 'default', 'bogus', cid, 'pending', 1, 'approval', 'server', 5, '"x"', '{}' FROM conversations WHERE ${of('plain')}`,
    },
    {
      what: 'a row of a call without a conversation',
      code: 'orphaned_derived_rows',
      id: null,
      sql: `INSERT INTO calls (tenant, call_id, cid, status, round, kind, executor, created_at, name, args)
        VALUES ('default', 'bogus', 999999, 'pending', 1, 'approval', 'server', 5, '"x"', '{}')`,
    },
    {
      what: 'a ref that no event makes',
      code: 'blob_ref_unneeded',
      id: 'waiting',
      sql: `INSERT INTO blob_refs (cid, bid, first_seq) SELECT cid, (SELECT min(bid) FROM blobs), 1 FROM conversations WHERE ${of('waiting')}`,
    },
    {
      what: 'a ref to a blob that is not there',
      code: 'orphaned_derived_rows',
      id: null,
      sql: `INSERT INTO blob_refs (cid, bid, first_seq) SELECT cid, 999999, 1 FROM conversations WHERE ${of('waiting')}`,
    },
  ]
}

function postgresOnly(table: Dialect['table']): Corruption[] {
  const call = (owner: string): string => `INSERT INTO ${table('calls')}
    (tenant, id, conversation_id, status, round, kind, executor, created_at, name, args)
    VALUES ('default', 'bogus', '${owner}', 'pending', 1, 'approval', 'server', 5, '"x"', '{}')`
  const lastSeq = (assignment: string): Corruption => ({
    what: assignment,
    code: 'last_seq_differs',
    id: 'plain',
    sql: `UPDATE ${table('conversations')} SET ${assignment} WHERE tenant = 'default' AND id = 'plain'`,
  })
  return [
    lastSeq('last_seq = last_seq + 3'),
    lastSeq('last_seq = last_seq - 1'),
    { what: 'a row of a call that was never made', code: 'call_row_unlogged', id: 'plain', sql: call('plain') },
    { what: 'a row of a call without a conversation', code: 'orphaned_derived_rows', id: null, sql: call('nobody') },
    {
      what: 'a ref that no event makes',
      code: 'blob_ref_unneeded',
      id: 'waiting',
      sql: `INSERT INTO ${table('blob_refs')} (tenant, conversation_id, hash, first_seq)
        SELECT tenant, 'waiting', hash, 1 FROM ${table('blobs')} WHERE tenant = 'default' LIMIT 1`,
    },
  ]
}
