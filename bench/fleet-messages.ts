/** What a process of the fleet bench is. `expiresInMs`: the deadline of the calls of the agent 'asks'; `holds`: its model never answers. */
export type Role =
  | { readonly type: 'proxy'; readonly url: string; readonly roundTripMs: number }
  | {
      readonly type: 'worker' | 'api'
      readonly url: string
      readonly leaseMs: number
      readonly maxConcurrentTurns: number
      readonly expiresInMs: number
      readonly holds: boolean
    }

export type Command =
  /** Turns one after the other in each of so many conversations. */
  | {
      readonly type: 'lanes'
      readonly lanes: number
      readonly ms: number
      readonly agent: string
      readonly prefix: string
    }
  /** Turns of new conversations, so many a second, however long they take. */
  | {
      readonly type: 'rate'
      readonly perSecond: number
      readonly ms: number
      readonly agent: string
      readonly prefix: string
    }
  /** Messages to new conversations, whose turns are not waited for. */
  | {
      readonly type: 'send'
      readonly from: number
      readonly to: number
      readonly agent: string
      readonly prefix: string
      readonly text: string
    }
  | { readonly type: 'watch'; readonly from: number; readonly to: number; readonly prefix: string }
  | { readonly type: 'report' }

/** `took`: how long each turn took, from `send` to its outcome. `begun`: from `send` to the model. */
export type ChildReport =
  | { readonly type: 'ready'; readonly url: string }
  | { readonly type: 'done'; readonly took: number[] }
  | { readonly type: 'failed'; readonly message: string }
  | {
      readonly type: 'figures'
      readonly statements: number
      readonly begun: number[]
      readonly cpuMs: number
      readonly gcMs: number
    }
