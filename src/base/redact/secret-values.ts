/** Values shorter than this are settings, as in '1' or 'true', and stand in texts for other reasons. */
const leastLength = 8
/** Long values are looked for piece by piece, so that no piece is longer than what `createRedactor` leaves out at a cut. */
const pieceLength = 1_024

/**
 * The values of environment variables whose names look secret, and the passwords of addresses in any of them, as they may stand in a text: as they
 * are, in a URL, or in JSON. The longest first.
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

/** By whole words, so that KEYBOARD and PWD, the working directory, are none. */
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
  return [...value.slice(0, 100_000).matchAll(/:\/\/[^\s/:@]{0,500}:([^\s/@]{1,2000})@/g)].map(
    ([, password]) => password!,
  )
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

/** The last piece takes what is left over, and is at most twice as long. */
function piecesOf(value: string): string[] {
  const count = Math.max(1, Math.floor(value.length / pieceLength))
  return Array.from({ length: count }, (_, index) =>
    value.slice(index * pieceLength, index === count - 1 ? undefined : (index + 1) * pieceLength),
  )
}
