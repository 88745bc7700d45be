import { MissingDependencyError } from '../base/errors/store-errors.ts'

/** An optional peer: only whoever serves needs it. */
export async function loadHono(): Promise<typeof import('hono').Hono> {
  try {
    return (await import('hono')).Hono
  } catch (cause) {
    throw new MissingDependencyError('hono', 'The server', cause)
  }
}
