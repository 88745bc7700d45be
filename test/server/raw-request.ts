import { once } from 'node:events'
import { connect } from 'node:net'

export type RawAnswer = { readonly status: number; readonly head: string; readonly body: string }

/** Sends bytes as they are, and reads the answer until the server closes or says nothing more. */
export async function rawRequest(port: number, text: string | Uint8Array): Promise<RawAnswer> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.on('error', () => {})
  let answer = ''
  socket.on('data', (chunk) => {
    answer += String(chunk)
    if (isWhole(answer)) socket.destroy()
  })
  socket.write(text)
  await once(socket, 'close')
  const [head = '', ...rest] = answer.split('\r\n\r\n')
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1] ?? 0), head, body: rest.join('\r\n\r\n') }
}

function isWhole(answer: string): boolean {
  const end = answer.indexOf('\r\n\r\n')
  if (end < 0) return false
  const length = /content-length: (\d+)/i.exec(answer.slice(0, end))?.[1]
  if (length !== undefined) return answer.length >= end + 4 + Number(length)
  return answer.endsWith('0\r\n\r\n') || /^HTTP\/1\.1 204/.test(answer)
}
