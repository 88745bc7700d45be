import { createRuntime, createScope, type Runtime, type RuntimeOptions, type Scope, type Store } from 'perdure'
import { serve } from 'perdure/server'
import { sqliteStore } from 'perdure/sqlite'
import { userCookie } from './studio-page.ts'

/** The agents and flows that a studio shows. Options of the runtime, without its store. */
export type StudioWorld = Omit<RuntimeOptions, 'store'>

export type StudioServer = {
  readonly url: string
  readonly runtime: Runtime
  readonly store: Store
  close(): Promise<void>
}

/** A real server over SQLite with its studio. A cookie says who asks, and everyone but `visitor` is an operator. */
export async function startServer(
  world: StudioWorld,
  place: { storeFile: string; port?: number },
): Promise<StudioServer> {
  const store = sqliteStore({ path: place.storeFile })
  const runtime = createRuntime({
    secret: 'a-secret-of-more-than-thirty-two-bytes',
    leaseMs: 500,
    pollMs: 50,
    ...world,
    store,
  } as RuntimeOptions)
  const server = await serve(runtime, {
    studio: true,
    port: place.port ?? 0,
    authenticate: userOf,
    upkeep: { store, isOperator: (request) => userOf(request)?.user !== 'visitor' },
    showErrors: true,
    showPrompts: true,
  })
  return {
    url: server.url,
    runtime: runtime as Runtime,
    store,
    async close() {
      await server.close({ drainMs: 0 })
      await runtime.close({ drainMs: 0 })
      await store.close()
    },
  }
}

function userOf(request: Request): Scope | null {
  const found = new RegExp(`${userCookie}=([^;]*)`).exec(request.headers.get('cookie') ?? '')
  if (!found) return null
  const { user, tenant } = JSON.parse(decodeURIComponent(found[1]!)) as { user: string; tenant: string }
  return createScope({ user, tenant: tenant || undefined }) as Scope
}
