import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { CommandLineError } from '../../base/errors/cli-errors.ts'
import { RemoteError, type RemoteProblem, ServerUnreachableError } from '../../base/errors/server-errors.ts'
import type { LocalAccess } from '../../server/node/local-token.ts'
import { isStudioBuilt } from '../../server/studio/studio-files.ts'
import { isFromSource } from '../transcript/command-line.ts'

/** Whether there is a studio to serve. A clone that has none builds it first, which takes some seconds and says so on stderr. */
export async function prepareStudio(): Promise<boolean> {
  if (isStudioBuilt()) return true
  if (!isFromSource()) return false
  const script = fileURLToPath(new URL('../../../studio/build-if-missing.js', import.meta.url))
  if (!existsSync(script)) return false
  await once(spawn(process.execPath, [script], { stdio: ['ignore', 'ignore', 'inherit'] }), 'exit')
  return isStudioBuilt()
}

/** Asks a server on this machine for the address of its studio, with a new code that signs one page in. */
export async function studioAddress({ url, studioUrl, token, operatorToken }: LocalAccess): Promise<string> {
  if (studioUrl === undefined) {
    throw new CommandLineError(`The server at ${url} has no studio; give it the option studio: true`, 'studio')
  }
  const headers = {
    authorization: `Bearer ${token}`,
    ...(operatorToken !== undefined && { 'perdure-operator': `Bearer ${operatorToken}` }),
  }
  const response = await fetch(`${studioUrl}/code`, { method: 'POST', headers }).catch((cause: unknown) => {
    throw new ServerUnreachableError(`no server answers at ${url}, which its token file names`, { cause })
  })
  if (!response.ok) throw new RemoteError((await response.json()) as RemoteProblem)
  const { code } = (await response.json()) as { readonly code: string }
  return `${studioUrl}#code=${code}`
}
