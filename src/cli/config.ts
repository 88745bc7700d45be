import type { Agent } from '../define/agent.ts'
import type { RuntimeOptions } from '../runtime/runtime.ts'
import type { ServeOptions } from '../server/serve.ts'
import type { UpkeepOptions } from '../server/server-options.ts'
import type { Store } from '../store/store.ts'

/** What `perdure.config.ts` says: how to create the runtime, and how to serve it. */
export type Config<Agents extends readonly Agent[] = readonly Agent[]> = Omit<
  RuntimeOptions<Agents>,
  'store' | 'work'
> & {
  /** A store, or where it is: the path of a SQLite file, from the config's folder, or `postgres://…`. */
  readonly store: Store | string
  /** For `perdure serve`. */
  readonly server?: Omit<ServeOptions, 'upkeep'> & {
    /** Who may look after the store beside whoever can read the token file. False: nobody at all. */
    readonly upkeep?: Pick<UpkeepOptions, 'isOperator'> | false
  }
}

/** The default export of `perdure.config.ts`. Gives back what it was given, with its types checked. */
export function defineConfig<const Agents extends readonly Agent[]>(config: Config<Agents>): Config<Agents> {
  return config
}
