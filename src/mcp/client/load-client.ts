import { MissingDependencyError } from '../../base/errors/store-errors.ts'

const packageName = '@modelcontextprotocol/client'

/** Loaded when a server is first connected to. Rejects with `MissingDependencyError`. */
export async function loadClient(): Promise<typeof import('@modelcontextprotocol/client')> {
  return await import('@modelcontextprotocol/client').catch(missing)
}

/** For servers that are processes. */
export async function loadStdio(): Promise<typeof import('@modelcontextprotocol/client/stdio')> {
  return await import('@modelcontextprotocol/client/stdio').catch(missing)
}

function missing(cause: unknown): never {
  throw new MissingDependencyError(packageName, 'mcpTools()', cause)
}
