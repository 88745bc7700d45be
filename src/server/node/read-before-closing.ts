import type { Server } from 'node:http'

/**
 * Node checks its keep-alive timers before it reads from sockets. After the process was busy, it would close
 * connections whose next request arrived in time. This reads once more before it closes an idle connection.
 */
export function readBeforeClosing(server: Server): void {
  server.on('timeout', (socket) => {
    setImmediate(() => {
      // Reading a request resets the timeout.
      if (socket.timeout !== 0) socket.destroy()
    })
  })
}
