import type { PendingItem, View, ViewMessage } from 'perdure/client'
import { type ComponentType, createContext, type ReactNode, useContext } from 'react'
import type { Call } from './rows.ts'

/** What a transcript's lines can do. A transcript without a server behind it has none of it. */
export type TranscriptActions = {
  /** Takes the text of a message into the composer, to be sent in its place. Null while a turn is open. */
  edit: ((turnId: string, text: string) => void) | null
  /** Null while a turn is open. */
  retry: ((turnId: string) => void) | null
  fork(at: number): void
  /** How a waiting call is answered here. */
  answer(item: PendingItem): ReactNode
}

export type TranscriptProps = {
  readonly view: View
  /** Who answers. Default: `agent`. */
  readonly agent?: string
  /** Default: those of the view. More where older ones were loaded. */
  readonly messages?: readonly ViewMessage[]
  /** Follows text that arrives, through the hooks of a server. Default: false. */
  readonly isLive?: boolean
  /** Default: nothing can be done. */
  readonly actions?: TranscriptActions | null
  /** Reads older messages; null when there are none. */
  readonly loadOlder?: (() => Promise<void>) | null
  /** The end is shown when it changes: the person has said something. */
  readonly saidCount?: number
  /** Default: 0, the transcript that scrolls by itself. Those of child agents stand whole within it. */
  readonly depth?: number
}

export type TranscriptWorld = {
  readonly conversationId: string
  readonly agent: string
  /** What the child agents of this conversation wait for. */
  readonly ofChildren: readonly PendingItem[]
  readonly calls: ReadonlyMap<string, Call>
  readonly pending: readonly PendingItem[]
  readonly progress: { readonly [callId: string]: unknown }
  /** The selected event. */
  readonly event: number | null
  readonly actions: TranscriptActions | null
  /** Whether text that arrives is followed: then a draft reads it by itself. */
  readonly isLive: boolean
  /** How deep this transcript is within those of parent agents. */
  readonly depth: number
  select(seq: number): void
  /** The transcript itself, for those of child agents within it. */
  readonly Nested: ComponentType<TranscriptProps>
}

export const TranscriptContext = createContext<TranscriptWorld | null>(null)

export function useTranscript(): TranscriptWorld {
  const world = useContext(TranscriptContext)
  if (!world) throw new Error('A line of a transcript is outside of one.')
  return world
}
