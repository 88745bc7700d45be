import { spawnChild } from '../../faults/harness/spawn-child.ts'
import type { ServerInput, ServerMessage, ServerState } from './server-child.ts'

export type ServerChild = {
  readonly url: string
  readonly port: number
  state(): Promise<ServerState>
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>
}

/** A server in a process of its own. */
export async function startChild(input: ServerInput): Promise<ServerChild> {
  const heard = new Map<ServerMessage['type'], (message: ServerMessage) => void>()
  const hear = <Type extends ServerMessage['type']>(type: Type) =>
    new Promise<Extract<ServerMessage, { type: Type }>>((resolve) => {
      heard.set(type, (message) => resolve(message as Extract<ServerMessage, { type: Type }>))
    })
  const ready = hear('ready')
  const child = spawnChild<ServerMessage>({
    script: new URL('./server-child.ts', import.meta.url),
    input,
    onMessage: (message) => heard.get(message.type)?.(message),
  })
  const died = child.ended.then(({ complaint }) => {
    throw new Error(`the server ended: ${complaint}`)
  })
  died.catch(() => {})
  const { url, port } = await Promise.race([ready, died])
  return {
    url,
    port,
    state() {
      const told = hear('state')
      child.tell('state')
      return Promise.race([told, died])
    },
    async kill() {
      child.kill()
      await child.ended
    },
  }
}
