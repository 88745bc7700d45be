/** A problem found in a store. */
export type Finding = {
  readonly code: FindingCode
  /** What is wrong, with its ids. */
  readonly problem: string
  /** What to do about it. */
  readonly advice: string
  /** `notice`: harmless, and not counted as a fault. */
  readonly severity: 'fault' | 'notice'
  /** Whether it can be rebuilt from the log by a repair. */
  readonly isDerived: boolean
  readonly tenant: string | null
  /** The conversation's id; null when the finding is about no conversation. */
  readonly conversation: string | null
}

/** The codes of all findings. */
export type FindingCode = keyof typeof findingCodes

type Meaning = { readonly advice: string; readonly isDerived?: true; readonly isNotice?: true }

const rebuild = 'Run doctor with --repair'
const restore = 'Restore the conversation from a backup, or delete it'

/** Every finding, with advice. Derived ones are rebuilt from the log by a repair. */
export const findingCodes = {
  seq_gap: { advice: restore },
  event_unreadable: { advice: restore },
  event_invalid: { advice: restore },
  event_unknown: { advice: 'Upgrade perdure: a newer version wrote it' },
  event_ignored: {
    advice: 'Find the program that wrote it; the event has no effect, and the rest of the log is valid',
  },
  log_unfoldable: { advice: restore },
  row_unreadable: { advice: restore },
  last_seq_differs: { advice: rebuild, isDerived: true },
  kind_differs: { advice: rebuild, isDerived: true },
  fsm_state_differs: { advice: rebuild, isDerived: true },
  status_differs: { advice: rebuild, isDerived: true },
  title_differs: { advice: rebuild, isDerived: true },
  child_of_differs: { advice: rebuild, isDerived: true },
  owner_missing: { advice: rebuild, isDerived: true },
  wake_up_missing: { advice: rebuild, isDerived: true },
  call_row_missing: { advice: rebuild, isDerived: true },
  call_row_differs: { advice: rebuild, isDerived: true },
  call_row_unlogged: { advice: rebuild, isDerived: true },
  deadline_differs: { advice: rebuild, isDerived: true },
  call_past_due: { advice: 'Open the store in any process; it ends the call within a second', isNotice: true },
  agent_missing: { advice: 'Send it a message with an agent, or delete it' },
  agent_unknown: { advice: 'Run the code that defines the agent, or continue with another agent from a fork' },
  parent_disagrees: { advice: 'Compare both logs: the parent has acted on its result, so a repair changes nothing' },
  parent_missing: { advice: 'Delete it: no parent waits for this child agent any more' },
  summary_misplaced: { advice: restore },
  summary_base_differs: { advice: rebuild, isDerived: true },
  key_misplaced: { advice: restore },
  blob_ref_missing: { advice: rebuild, isDerived: true },
  blob_ref_differs: { advice: rebuild, isDerived: true },
  blob_ref_unneeded: { advice: rebuild, isDerived: true },
  blob_lost: { advice: 'Restore the blob from a backup' },
  blob_damaged: { advice: 'Restore the blob from a backup' },
  blob_unreferenced: { advice: 'Run gc', isNotice: true },
  snapshot_unreadable: { advice: 'Save the snapshot again, or delete its conversation' },
  quarantined: {
    advice: 'Find out why its processes died, then release it with perdure unquarantine, or cancel its turn',
  },
  scope_missing: {
    advice: 'Correct restoreScope, or what it depends on; the conversation continues by itself within a minute',
  },
  subscriber_stopped: {
    advice: 'Start a process that has the subscriber, or remove it with perdure deliveries --remove',
    isNotice: true,
  },
  lease_absurd: { advice: 'Stop the process that holds it, or wait until the lease expires' },
  orphaned_events: { advice: 'Restore the conversation they belong to from a backup' },
  orphaned_derived_rows: { advice: rebuild, isDerived: true },
  orphaned_rows: { advice: 'Run gc' },
} as const satisfies Record<string, Meaning>

export function finding(
  code: FindingCode,
  place: { readonly tenant: string | null; readonly conversation: string | null },
  problem: string,
): Finding {
  const { advice, isDerived, isNotice }: Meaning = findingCodes[code]
  const severity = isNotice ? 'notice' : 'fault'
  return { code, problem, advice: `${advice}.`, severity, isDerived: isDerived ?? false, ...place }
}
