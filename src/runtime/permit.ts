import type { ConversationRecord } from '../store/records.ts'
import type { AuthorizeAction, AuthorizedCall } from './authorize/authorize.ts'
import type { Conversation } from './conversation.ts'

/** What a handle still has to ask, where `authorize` decides: what only it finds out. */
export type Permit = {
  /** See `Sending`. */
  readonly isNew?: boolean
  readonly mayRestore?: MayRestore | null
  readonly mayApprove?: MayApprove | null
}

/** Whether the caller may do this to a conversation that exists only as a snapshot. The record has the owner that the snapshot names. */
export type MayRestore = (action: RestoringAction, record: ConversationRecord) => Promise<boolean>

export type RestoringAction = Extract<AuthorizeAction, 'send' | 'continue' | 'delete'>

/** Whether the caller may have a call run with arguments that the caller changed, as the tool will get them. */
export type MayApprove = (id: string, call: AuthorizedCall) => Promise<boolean>

/** `authorize` refused what a handle asked. Callers must report it as if the conversation did not exist. */
export class Refused extends Error {}

/** For streams that several callers share: the current conversation, and how to learn that one of them may no longer read it. */
export type Permission = {
  readonly conversation: Conversation
  /** Calls back once. Must be stopped when the stream ends. */
  onLost(lost: (failure: unknown) => void): () => void
}

const permissions = new WeakMap<Conversation, Permission>()

/** Null where no one is asked. */
export function permissionOf(conversation: Conversation): Permission | null {
  return permissions.get(conversation) ?? null
}

/** For a handle that wraps another. */
export function passPermission(
  from: Conversation,
  to: Conversation,
  wrap: (open: Conversation) => Conversation,
): Conversation {
  const permission = permissionOf(from)
  if (permission) permissions.set(to, { ...permission, conversation: wrap(permission.conversation) })
  return to
}

export function setPermission(conversation: Conversation, permission: Permission): void {
  permissions.set(conversation, permission)
}
