/** One message of the Postgres protocol from the server, with its bytes. */
export type BackendMessage = { readonly type: string; readonly bytes: Buffer }

/** Splits what a server sends into messages. Only for connections without encryption. */
export class BackendMessages {
  #rest: Buffer = Buffer.alloc(0)

  /** Returns the messages that are complete now. */
  push(chunk: Buffer): BackendMessage[] {
    this.#rest = Buffer.concat([this.#rest, chunk])
    const messages: BackendMessage[] = []
    for (;;) {
      if (this.#rest.length < 5) return messages
      // The length counts itself and not the type.
      const size = 1 + this.#rest.readInt32BE(1)
      if (this.#rest.length < size) return messages
      messages.push({ type: String.fromCharCode(this.#rest[0]!), bytes: this.#rest.subarray(0, size) })
      this.#rest = this.#rest.subarray(size)
    }
  }
}

/** Ready for the next query, and in no transaction: what came before is committed or undone. */
export function endsTransaction({ type, bytes }: BackendMessage): boolean {
  return type === 'Z' && bytes[5] === 'I'.charCodeAt(0)
}
