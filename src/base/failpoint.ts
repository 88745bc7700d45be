/** Every point where a crash is injected. The crash matrix reads this list and fails if a point is never reached. */
export const failpoints = [
  'send.before_commit',
  'send.after_commit',
  'retry.before_commit',
  'retry.after_commit',
  'resolve.before_commit',
  'resolve.after_commit',
  'cancel.before_commit',
  'cancel.after_commit',
  'deadline.before_commit',
  'deadline.after_commit',
  'note.before_commit',
  'note.after_commit',
  'state.before_commit',
  'state.after_commit',
  'rename.before_commit',
  'rename.after_commit',
  'lease.after_acquire',
  'owner.before_commit',
  'owner.after_commit',
  'owner.before_park',
  'owner.after_park',
  'model.before_call',
  'model.during_stream',
  'model.after_break',
  'model.after_stream',
  'tool.before_run',
  'tool.after_run',
  'store.inside_transaction',
  'store.after_transaction',
] as const

/** Points that only conversations with snapshots reach. They have a crash program of their own. */
export const snapshotFailpoints = [
  'restore.before_commit',
  'restore.after_commit',
  'delete.after_state',
  'delete.after_commit',
] as const

/** Points that only flow sessions reach. */
export const flowFailpoints = [
  'flow.before_start',
  'flow.after_start',
  'flow.before_resume',
  'flow.after_resume',
  'flow.before_commit',
  'flow.after_commit',
  'flow.before_park',
  'flow.after_park',
  'flow.before_step',
  'flow.after_step',
  'flow.before_fork',
  'flow.after_fork',
  'flow.before_continue',
  'flow.after_continue',
] as const

/** Points that only conversations with child agents reach. They have a crash matrix of their own. */
export const childFailpoints = [
  'child.before_send',
  'child.after_send',
  'child.before_resolve_parent',
  'child.after_resolve_parent',
  'child.before_cancel',
  'child.after_cancel',
] as const

/** Points that only deliveries to subscribers reach. They have a crash program of their own. */
export const outboxFailpoints = ['outbox.before_run', 'outbox.after_run'] as const

/** Points that only bulk jobs reach. They have a crash program of their own. */
export const bulkFailpoints = ['bulk.before_commit', 'bulk.after_commit', 'bulk.before_settle'] as const

export type Failpoint =
  | (typeof failpoints)[number]
  | (typeof snapshotFailpoints)[number]
  | (typeof flowFailpoints)[number]
  | (typeof childFailpoints)[number]
  | (typeof outboxFailpoints)[number]
  | (typeof bulkFailpoints)[number]

let handler: ((name: Failpoint) => void) | null = null

/** Does nothing unless a fault program is listening. */
export function failpoint(name: Failpoint): void {
  handler?.(name)
}

export function onFailpoint(listener: ((name: Failpoint) => void) | null): void {
  handler = listener
}
