/** Where something to be hidden begins and ends. */
export type Span = readonly [start: number, end: number]

/** Finds what looks like a credential, whoever it belongs to. `opaqueWords`: also long random words, as providers quote keys of any form. */
export function secretSpans(text: string, { opaqueWords }: { readonly opaqueWords: boolean }): Span[] {
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
 * `pattern` names what is hidden `secret`. Each pattern must take time in proportion to the text, so what repeats is bounded, or followed by something
 * that it cannot match. `isSecret` tells a value from prose, as in 'token expired'.
 */
type Rule = { readonly pattern: RegExp; readonly isSecret?: (found: string) => boolean }

const keyHeader = '(?:[a-z]{1,20}-){0,4}api[-_ ]?key|apikey'
const named =
  '(?:access|auth|id|refresh|session|security)[-_ ]?token|(?:client[-_ ]?)?secret|password|passwd|pwd|credentials?'
/** Quotes may be escaped, as in JSON within JSON. */
const quote = `\\\\?["']`
const between = `(?:${quote})?(?: provided)?\\s{0,20}[:=]\\s{0,20}(?:${quote})?`
const word = `[^\\s"'&,;}\\\\]+`

const rules: readonly Rule[] = [
  // A password in a web address has no slash; those of databases are often written as they are.
  { pattern: /\b(?:https?|wss?):\/\/(?<secret>[^\s/@"'<>]{1,2000})@/dgi },
  { pattern: /\b(?!https?:|wss?:)[a-z][a-z0-9+.-]{1,30}:\/\/(?<secret>[^\s"'<>]{1,2000})@/dgi },
  { pattern: /\b(?:bearer|basic|token)\s{1,20}(?<secret>[\w.~+/*=-]{8,})/dgi, isSecret: isNoWord },
  // Other schemes have several values, and cookies are several.
  {
    pattern: new RegExp(
      `\\b(?:(?:proxy-)?authorization|(?:set-)?cookie)${between}(?!(?:bearer|basic|token)\\s)(?<secret>[^\\r\\n"'\\\\]+)`,
      'dgi',
    ),
  },
  { pattern: new RegExp(`\\b(?:${keyHeader})${between}(?<secret>${word})`, 'dgi') },
  // As in JSON, as in connection strings and forms, and as people write it.
  { pattern: new RegExp(`\\b(?:${named})(?:${quote})?\\s{0,20}[:=]\\s{0,20}${quote}(?<secret>[^"'\\\\]+)`, 'dgi') },
  { pattern: new RegExp(`\\b(?:${named})=(?<secret>${word})`, 'dgi') },
  {
    pattern: new RegExp(`\\b(?:${named})\\s{0,20}(?::|=|\\bis\\b)\\s{0,20}(?<secret>${word})`, 'dgi'),
    isSecret: isNoWord,
  },
  {
    pattern: /[?&][\w-]{0,40}(?:key|token|sig|signature|secret|credential|password|auth|code)=(?<secret>[^\s&"'#]+)/dgi,
  },
  // Prefixes that providers and clouds give their keys.
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

/** Not as in prose: letters alone, of which only the first may be a capital. */
function isNoWord(found: string): boolean {
  return !/^[A-Za-z]?[a-z]*(?:-[a-z]{1,20}){0,3}[.!?)\]:]{0,3}$/.test(found)
}

function hasDigits(found: string): boolean {
  return /[\d*]/.test(found)
}
