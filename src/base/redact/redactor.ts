import { type Clock, systemClock } from '../clock.ts'
import { consoleLogger, type Logger } from '../logger.ts'

/**
 * Removes secrets from a text and truncates it. Returns the same result for the same text as long as the process lives.
 * Never throws. Takes time in proportion to a bounded length.
 */
export type Redact = (text: string, options?: RedactOptions) => string

export type RedactOptions = {
  /** Default: 8,192. */
  readonly maxLength?: number
  /** Also removes long random words: providers quote keys of any form. Default: false. */
  readonly opaqueWords?: boolean
}

export type RedactorOptions = {
  /** Read once. Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** The application's own function. It gets the text after the built-in rules. */
  readonly redact?: ((text: string) => string) | undefined
  readonly logger?: Logger
  readonly clock?: Clock
}

/** How much of a text is examined. */
const mostRead = 16_384
/** Left out at the cut, so that no secret is cut in half: longer than any secret that begins before it. */
const margin = 4_096
const defaultMaxLength = 8_192
/** The application's function blocks the process while it runs. */
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

/** The text up to `end`, with one mark for adjacent spans. */
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

/** Well-formed, with a note of how much was left out. */
function cut(text: string, length: number, isCut: boolean, maxLength: number): string {
  if (!isCut && text.length <= maxLength) return text.toWellFormed()
  const note = ` ... (${length} characters in all)`
  return text.slice(0, Math.max(0, maxLength - note.length)).toWellFormed() + note
}

/** If the function throws or returns no text, the whole text is withheld. */
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
      if (tookMs > slowMs) logger.warn("the application's redact is slow and blocks the process", { tookMs })
      if (typeof clean === 'string') return clean === '' ? mark : clean
      // An async function by mistake: ignore its rejection.
      if (clean instanceof Promise) clean.catch(() => {})
      logger.error("the application's redact returned no text; the text is withheld", { gave: typeof clean })
    } catch {
      logger.error("the application's redact threw; the text is withheld")
    }
    return withheldText
  }
}

/** More than `createRedactor` shows: a cut here must not leave half a secret that no rule recognises. */
const maxLength = 32_768

/**
 * What was thrown, as text for a model. Never throws and is never empty. May still contain secrets: see
 * `createRedactor`.
 */
export function errorText(thrown: unknown): string {
  try {
    return describe(thrown).slice(0, maxLength).toWellFormed()
  } catch {
    return 'it threw something that cannot be shown'
  }
}

function describe(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown || 'it threw an empty string'
  if (thrown instanceof Error) return String(thrown.message) || thrown.name || 'it threw an error without a message'
  if (typeof thrown !== 'object' || thrown === null) return `it threw ${String(thrown)}`
  const { message } = thrown as { message?: unknown }
  if (typeof message === 'string' && message !== '') return message
  return `it threw ${JSON.stringify(thrown)}`
}

/** Shorter values are settings, such as '1' or 'true', and appear in texts for other reasons. */
const leastLength = 8
/** Long values are searched in pieces, none longer than what `createRedactor` leaves out at a cut. */
const pieceLength = 1_024

/**
 * The values of environment variables with secret names, and passwords in URLs of any variable, in every form in which
 * a text may contain them: plain, URL-encoded or JSON-escaped. Longest first.
 */
export function secretValues(env: Readonly<Record<string, string | undefined>>): string[] {
  const values = new Set<string>()
  for (const [name, value = ''] of Object.entries(env)) {
    const secrets = isSecretName(name) ? [value.trim()] : []
    for (const secret of [...secrets, ...passwordsIn(value)]) {
      for (const form of formsOf(secret)) if (form.length >= leastLength) values.add(form)
    }
  }
  return [...values].flatMap(piecesOf).sort((one, other) => other.length - one.length || (one < other ? -1 : 1))
}

/** Matches whole words, so KEYBOARD and PWD (the working directory) are not secret. */
function isSecretName(name: string): boolean {
  const words = name
    .toUpperCase()
    .split(/[^A-Z0-9]+/)
    .filter((word) => word !== '')
  return words.some((word) => secretWords.test(word)) || (words.length > 1 && lastWords.has(words.at(-1)!))
}

const secretWords =
  /^(?:[A-Z0-9]*KEYS?|[A-Z0-9]*TOKENS?|[A-Z0-9]*SECRETS?|[A-Z0-9]*PASSW(?:OR)?DS?|PASSPHRASE|PASS|CREDENTIALS?|DSN)$/
const lastWords = new Set(['AUTH', 'PWD', 'COOKIE', 'SALT', 'CONNECTIONSTRING'])

function passwordsIn(value: string): string[] {
  return [...value.matchAll(/:\/\/[^\s/:@]{0,500}:([^\s/@]{1,2000})@/g)].map(([, password]) => password!)
}

function formsOf(secret: string): string[] {
  const text = secret.toWellFormed()
  return [text, decoded(text), encodeURIComponent(text), JSON.stringify(text).slice(1, -1)]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The last piece takes the remainder, and is at most twice as long. */
function piecesOf(value: string): string[] {
  const count = Math.max(1, Math.floor(value.length / pieceLength))
  return Array.from({ length: count }, (_, index) =>
    value.slice(index * pieceLength, index === count - 1 ? undefined : (index + 1) * pieceLength),
  )
}

/** Start and end of a secret. */
type Span = readonly [start: number, end: number]

/**
 * Finds text that looks like a credential. `opaqueWords`: also long random words, because providers quote keys of any
 * form.
 */
function secretSpans(text: string, { opaqueWords }: { readonly opaqueWords: boolean }): Span[] {
  const spans: Span[] = []
  for (const { pattern, isSecret } of opaqueWords ? rulesForProviders : rules) {
    for (const match of text.matchAll(pattern)) {
      const span = match.indices?.groups?.['secret']
      if (span && (!isSecret || isSecret(text.slice(...span)))) spans.push(span)
    }
  }
  return spans
}

/**
 * `pattern` names the part to hide `secret`. Must take time in proportion to the text: repetitions are bounded, or
 * followed by something they cannot match. `isSecret` tells values from prose such as 'token expired'.
 */
type Rule = { readonly pattern: RegExp; readonly isSecret?: (found: string) => boolean }

const keyHeader = '(?:[a-z]{1,20}-){0,4}api[-_ ]?key|apikey'
const named =
  '(?:access|auth|id|refresh|session|security)[-_ ]?token|(?:client[-_ ]?)?secret|password|passwd|pwd|credentials?'
/** Quotes may be escaped, as in JSON inside JSON. */
const quote = `\\\\?["']`
const between = `(?:${quote})?(?: provided)?\\s{0,20}[:=]\\s{0,20}(?:${quote})?`
const word = `[^\\s"'&,;}\\\\]+`

const rules: readonly Rule[] = [
  // Passwords in web URLs contain no slash. Those in database URLs are often not encoded.
  { pattern: /\b(?:https?|wss?):\/\/(?<secret>[^\s/@"'<>]{1,2000})@/dgi },
  { pattern: /\b(?!https?:|wss?:)[a-z][a-z0-9+.-]{1,30}:\/\/(?<secret>[^\s"'<>]{1,2000})@/dgi },
  { pattern: /\b(?:bearer|basic|token)\s{1,20}(?<secret>[\w.~+/*=-]{8,})/dgi, isSecret: isNotProse },
  // Other schemes have several values, and a header may have several cookies.
  {
    pattern: new RegExp(
      `\\b(?:(?:proxy-)?authorization|(?:set-)?cookie)${between}(?!(?:bearer|basic|token)\\s)(?<secret>[^\\r\\n"'\\\\]+)`,
      'dgi',
    ),
  },
  { pattern: new RegExp(`\\b(?:${keyHeader})${between}(?<secret>${word})`, 'dgi') },
  // In JSON, in connection strings and forms, and in prose.
  { pattern: new RegExp(`\\b(?:${named})(?:${quote})?\\s{0,20}[:=]\\s{0,20}${quote}(?<secret>[^"'\\\\]+)`, 'dgi') },
  { pattern: new RegExp(`\\b(?:${named})=(?<secret>${word})`, 'dgi') },
  {
    pattern: new RegExp(`\\b(?:${named})\\s{0,20}(?::|=|\\bis\\b)\\s{0,20}(?<secret>${word})`, 'dgi'),
    isSecret: isNotProse,
  },
  {
    pattern: /[?&][\w-]{0,40}(?:key|token|sig|signature|secret|credential|password|auth|code)=(?<secret>[^\s&"'#]+)/dgi,
  },
  // Key prefixes of providers and clouds.
  {
    pattern:
      /\b(?<secret>(?:sk|pk|rk|gsk|xai|hf|r8|pplx|nvapi|tvly|fw|key|gh[ops]|github_pat|glpat|xox[abp])[-_][\w*.-]{6,})/dgi,
    isSecret: hasDigits,
  },
  { pattern: /\b(?<secret>AIza[\w*-]{10,})/dg },
  { pattern: /\b(?<secret>(?:AKIA|ASIA)[A-Z0-9*]{8,})/dg },
  { pattern: /\b(?<secret>ya29\.[\w.*-]{6,})/dg },
  { pattern: /\b(?<secret>eyJ[\w-]{6,}(?:\.[\w-]*){0,2})/dg },
  { pattern: /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?<secret>[^-]+)/dg },
]

const rulesForProviders: readonly Rule[] = [
  ...rules,
  { pattern: /(?<secret>[A-Za-z0-9_]{32,})/dg, isSecret: (found) => hasDigits(found) && /[A-Za-z]/.test(found) },
]

/** False for prose: only letters, with at most the first one a capital. */
function isNotProse(found: string): boolean {
  return !/^[A-Za-z]?[a-z]*(?:-[a-z]{1,20}){0,3}[.!?)\]:]{0,3}$/.test(found)
}

function hasDigits(found: string): boolean {
  return /[\d*]/.test(found)
}
