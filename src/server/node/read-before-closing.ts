import type { Server } from 'node:http'

/**
 * A connection that was idle for as long as keep-alive allows is closed, unless a request has come on it. Node looks at its timers before it reads: when the process was busy
 * for a while, it closes connections on requests that came in time, and their clients are told nothing.
 */
export function readBeforeClosing(server: Server): void {
  server.on('timeout', (socket) => {
    setImmediate(() => {
      // A request that was read meanwhile has ended the timeout.
      if (socket.timeout !== 0) socket.destroy()
    })
  })
}
