import { userInfo } from 'node:os'
import type { ArgsDef, ParsedArgs } from 'citty'

/** The options of every command that works on a store directly. */
export const storeArgs = {
  store: { type: 'string', valueHint: 'path|postgres://…', description: 'The store to work on' },
  config: { type: 'string', valueHint: 'file', description: 'The config; default: perdure.config.ts here or above' },
  tenant: { type: 'string', description: 'A tenant of the store; default: default' },
} as const satisfies ArgsDef

/** The options of every command that works on a store or on a running server. */
export const targetArgs = {
  url: {
    type: 'string',
    description: 'A running server, instead of a store; its token comes from PERDURE_TOKEN or a token file',
  },
  'token-file': {
    type: 'string',
    valueHint: 'file',
    description: 'The file that `perdure serve` wrote; default: .perdure/server.json here or above',
  },
  ...storeArgs,
  who: { type: 'string', valueHint: 'user', description: 'Your name on a store; default: your user name' },
} as const satisfies ArgsDef

/** For commands that start work. */
export const workArgs = {
  work: {
    type: 'boolean',
    description:
      'On a store: run the agents and flows of the config in this process, until the session waits or has ended',
  },
} as const satisfies ArgsDef

export type StoreArgs = Partial<Pick<ParsedArgs<typeof storeArgs>, keyof typeof storeArgs>>
export type TargetArgs = Partial<Pick<ParsedArgs<typeof targetArgs>, keyof typeof targetArgs>>

export function userNameOf({ who: given }: TargetArgs): string {
  if (given) return given
  try {
    return userInfo().username
  } catch {
    // A user without an entry in the password file, such as in a container.
    return 'cli'
  }
}
