/** As much of a foreign text as an error needs. */
const maxLength = 500
/** Enough to redact before cutting, so that no cut leaves half a key, and little enough for a page of HTML. */
const maxRead = 5_000

const mark = '[redacted]'

/** A provider's own words with everything taken out that could be a key, a token or a credential. Rather too much than too little. */
export function redact(text: string): string {
  const read = text.slice(0, maxRead)
  const clean = rules.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), read)
  const line = clean
    .replace(opaque, (word) => (looksRandom(word) ? mark : word))
    .replace(/\s+/g, ' ')
    .trim()
  return line.length > maxLength ? `${line.slice(0, maxLength)}...` : line
}

const secretNames =
  '(?:proxy-)?authorization|(?:[a-z]{1,20}-){0,4}api[-_ ]?key|apikey|(?:set-)?cookie|(?:access|auth|id|refresh|session|security)[-_ ]?token|(?:client[-_ ]?)?secret|password|passwd|credentials?'

const rules: readonly (readonly [RegExp, string])[] = [
  // Schemes come first: a header's value has a space in it.
  [/\b(bearer|basic|token)(\s+)[\w.~+/*=-]{8,}/gi, `$1$2${mark}`],
  [
    new RegExp(
      `\\b(${secretNames})(\\\\?["']?(?: provided)?\\s*(?:[:=]|\\bis\\b)\\s*\\\\?["']?)(?:bearer |basic )?[^\\s"'&,;}\\\\]+`,
      'gi',
    ),
    `$1$2${mark}`,
  ],
  [/([?&](?:[\w-]{0,40}(?:key|token|sig|signature|secret|credential|password|auth|code))=)[^\s&"'#]+/gi, `$1${mark}`],
  [/(\w{1,20}:\/\/)[^\s/@"']{1,300}@/g, `$1${mark}@`],
  // Prefixes that providers and clouds give their keys.
  [/\b(?:sk|pk|rk|gsk|xai|hf|r8|pplx|nvapi|tvly|fw|key|ghp|gho|ghs|github_pat|glpat|xox[abp])[-_][\w*.-]{6,}/gi, mark],
  [/\bAIza[\w*-]{10,}/g, mark],
  [/\b(?:AKIA|ASIA)[A-Z0-9*]{8,}/g, mark],
  [/\bya29\.[\w.*-]{6,}/g, mark],
  [/\beyJ[\w-]{6,}(?:\.[\w-]*){0,2}/g, mark],
]

const opaque = /[A-Za-z0-9_]{32,}/g

function looksRandom(word: string): boolean {
  return /\d/.test(word) && /[A-Za-z]/.test(word)
}
