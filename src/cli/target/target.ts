import type { Client } from '../../client/create-client.ts'

/** What a command works on: the verbs of `perdure/client`, whether a server answers them or this process on a store. */
export type Target = Pick<Client, 'conversation' | 'conversations' | 'inbox' | 'flow'> & {
  readonly kind: 'store' | 'server'
  /** For people, without credentials. */
  readonly place: string
  /** The names of the agents whose code is here; null where only the server knows. */
  readonly agents: readonly string[] | null
  close(): Promise<void>
}
