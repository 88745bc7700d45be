import { MissingDependencyError } from '../../base/errors/store-errors.ts'

const packageName = '@modelcontextprotocol/server'

/** Loaded when a request comes. Rejects with `MissingDependencyError`. */
export async function loadServer(): Promise<typeof import('@modelcontextprotocol/server')> {
  return await import('@modelcontextprotocol/server').catch(missing)
}

export async function loadServerStdio(): Promise<typeof import('@modelcontextprotocol/server/stdio')> {
  return await import('@modelcontextprotocol/server/stdio').catch(missing)
}

function missing(cause: unknown): never {
  throw new MissingDependencyError(packageName, 'An MCP server', cause)
}
