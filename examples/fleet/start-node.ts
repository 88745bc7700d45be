/** The processes of the nodes: they tell their port when they listen, and end with the program that started them. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

export function startNode(name: string, databaseUrl: string): ChildProcess {
  return fork(new URL('node.ts', import.meta.url), [name, databaseUrl])
}

export async function messageOf(node: ChildProcess): Promise<unknown> {
  const ended = once(node, 'exit').then(() => Promise.reject(new Error('a node ended before it answered')))
  return (await Promise.race([once(node, 'message'), ended]))[0]
}

export async function endNode(node: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (node.exitCode !== null || node.signalCode !== null) return
  node.kill(signal)
  await once(node, 'exit')
}
