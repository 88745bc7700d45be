/** One event of a stream. `id` is the last one that was given, also when it came with an earlier event. */
export type ServerSentEvent = { readonly id: string | null; readonly data: string }

/** Reads server-sent events as they come, those that come together at once; only what ends with an empty line is an event. `onBytes` is called for whatever comes. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void = () => {},
): AsyncGenerator<readonly ServerSentEvent[], void, void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  const lines = new Lines()
  let id: string | null = null
  let data: string[] = []
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      onBytes()
      const events: ServerSentEvent[] = []
      for (const line of lines.push(decoder.decode(value, { stream: true }))) {
        if (line === '') {
          if (data.length > 0) events.push({ id, data: data.join('\n') })
          data = []
          continue
        }
        const [field, text] = fieldOf(line)
        if (field === 'data') data.push(text)
        else if (field === 'id' && !text.includes('\0')) id = text
      }
      if (events.length > 0) yield events
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** Cuts text into lines, whatever pieces it comes in. */
class Lines {
  /** Pieces of a line whose end has not come: joined once, however many there are. */
  #rest: string[] = []
  #endedWithReturn = false

  push(text: string): string[] {
    if (text === '') return []
    const given = this.#endedWithReturn && text.startsWith('\n') ? text.slice(1) : text
    this.#endedWithReturn = text.endsWith('\r')
    const pieces = given.split(/\r\n|\r|\n/)
    const last = pieces.pop()!
    if (pieces.length > 0) {
      pieces[0] = this.#rest.join('') + pieces[0]
      this.#rest = []
    }
    if (last !== '') this.#rest.push(last)
    return pieces
  }
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(':')
  if (colon < 0) return [line, '']
  const text = line.slice(colon + 1)
  return [line.slice(0, colon), text.startsWith(' ') ? text.slice(1) : text]
}
