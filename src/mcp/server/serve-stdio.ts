import { agentServer, type ServedCaller } from './agent-server.ts'
import { loadServerStdio } from './load-server.ts'

/** Serves one client over the standard input and output of this process, for desktop clients. Resolves when the client has gone or the signal aborts. */
export async function serveMcpStdio(caller: ServedCaller, signal: AbortSignal): Promise<void> {
  const { serveStdio } = await loadServerStdio()
  const served = serveStdio(({ era }) => agentServer(caller, era))
  await new Promise<void>((resolve) => {
    process.stdin.once('end', resolve)
    process.stdin.once('close', resolve)
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  await served.close()
}
