import type { WakeHint } from '../store.ts'

/** A NOTIFY takes fewer than 8,000 bytes. */
const maxPayloadBytes = 7_900
const frameBytes = 100

type Payload = [sender: string, hints: [tenant: string, id: string, seq: number][]]

/** The hints as messages of one sender, as many as they need. */
export function hintPayloads(sender: string, hints: readonly WakeHint[]): string[] {
  const parts: string[][] = []
  let bytes = maxPayloadBytes
  for (const { tenant, id, seq } of hints) {
    const text = JSON.stringify([tenant, id, seq])
    const size = Buffer.byteLength(text) + 1
    if (bytes + size > maxPayloadBytes) {
      parts.push([])
      bytes = frameBytes
    }
    parts.at(-1)!.push(text)
    bytes += size
  }
  return parts.map((part) => `[${JSON.stringify(sender)},[${part.join(',')}]]`)
}

/** Empty for what was sent by `self`, and for what is no message of ours: anybody may notify on the channel. */
export function hintsIn(payload: string, self: string): WakeHint[] {
  try {
    const [sender, hints] = JSON.parse(payload) as Payload
    return sender === self ? [] : hints.map(([tenant, id, seq]) => ({ tenant, id, seq }))
  } catch {
    return []
  }
}
