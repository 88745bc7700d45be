import { type Clock, systemClock } from '../clock.ts'
import { consoleLogger, type Logger } from '../logger.ts'
import { type Span, secretSpans } from './secret-spans.ts'
import { secretValues } from './secret-values.ts'

/** Takes secrets out of a text, and cuts it. Gives the same for the same text as long as the process lives; never throws; takes time in proportion to a bounded length. */
export type Redact = (text: string, options?: RedactOptions) => string

export type RedactOptions = {
  /** Default: 8,192. */
  readonly maxLength?: number
  /** Also takes out long random words: for texts of providers, which quote keys of any form. Default: false. */
  readonly opaqueWords?: boolean
}

export type RedactorOptions = {
  /** Read once. Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** The application's own, given what the rules have left. */
  readonly redact?: ((text: string) => string) | undefined
  readonly logger?: Logger
  readonly clock?: Clock
}

/** What of a text is looked at. */
const mostRead = 16_384
/** What is left out where a text is cut, so that no secret is left in halves: a secret that begins before it was read whole. */
const margin = 4_096
const defaultMaxLength = 8_192
/** The application's function holds up everything else while it runs. */
const slowMs = 1_000

const mark = '[redacted]'
const withheldText = "[redacted: the application's redact failed]"

export function createRedactor(options: RedactorOptions = {}): Redact {
  const { env = globalThis.process?.env ?? {} } = options
  const values = secretValues(env)
  const ofApplication = applicationRedact(options)
  return (text, { maxLength = defaultMaxLength, opaqueWords = false } = {}) => {
    const read = text.slice(0, mostRead)
    const spans = [...secretSpans(read, { opaqueWords }), ...valueSpans(read, values)]
    const shown = marked(read, spans, text.length > mostRead ? mostRead - margin : read.length)
    return cut(ofApplication(shown), text.length, text.length > mostRead, maxLength)
  }
}

function valueSpans(text: string, values: readonly string[]): Span[] {
  return values.flatMap((value) => {
    const spans: Span[] = []
    for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + value.length))
      spans.push([at, at + value.length])
    return spans
  })
}

/** The text up to `end`, with one mark for spans that touch. */
function marked(text: string, spans: readonly Span[], end: number): string {
  const pieces: string[] = []
  let from = 0
  for (const [start, stop] of spans.toSorted(([one], [other]) => one - other)) {
    if (start >= end) break
    if (start > from || pieces.length === 0) pieces.push(text.slice(from, start), mark)
    from = Math.max(from, stop)
  }
  return [...pieces, from < end ? text.slice(from, end) : ''].join('')
}

/** Well-formed, and with a note of what was left out. */
function cut(text: string, length: number, isCut: boolean, maxLength: number): string {
  if (!isCut && text.length <= maxLength) return text.toWellFormed()
  const note = ` ... (${length} characters in all)`
  return text.slice(0, Math.max(0, maxLength - note.length)).toWellFormed() + note
}

/** What throws, or gives no text, must not let the text pass: nothing of it is told then. */
function applicationRedact({
  redact,
  logger = consoleLogger,
  clock = systemClock,
}: RedactorOptions): (text: string) => string {
  if (!redact) return (text) => text
  return (text) => {
    const startedAt = clock.now()
    try {
      const clean: unknown = redact(text)
      const tookMs = clock.now() - startedAt
      if (tookMs > slowMs) logger.warn('redact of the application is slow; everything waits for it', { tookMs })
      if (typeof clean === 'string') return clean === '' ? mark : clean
      // An async function: what comes of its promise is nobody's.
      if (clean instanceof Promise) clean.catch(() => {})
      logger.error('redact of the application gave no text, and the text is withheld', { gave: typeof clean })
    } catch {
      logger.error('redact of the application threw, and the text is withheld')
    }
    return withheldText
  }
}
