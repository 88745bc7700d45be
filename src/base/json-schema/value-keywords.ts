import type { Json, JsonObject } from '../json.ts'
import { clip, shown } from './issues.ts'
import { LinearPattern } from './pattern/linear-pattern.ts'
import { stepsToParse } from './pattern/parse-pattern.ts'
import { isTexts, listIn, malformed, numberIn, textIn } from './read-keyword.ts'
import { type NodeBuilder, typeOf } from './schema-node.ts'
import { canonicalText, StepBudget, stepsOfText } from './step-budget.ts'

/** `type`, `const` and `enum`. */
export function addValueKeywords(schema: JsonObject, node: NodeBuilder): void {
  addType(schema, node)
  if (schema['const'] !== undefined) addOneOf([schema['const']], node)
  const values = listIn(schema, 'enum')
  if (values) addOneOf(values, node)
}

function addType({ type }: JsonObject, node: NodeBuilder): void {
  if (type === undefined) return
  const allowed = typeof type === 'string' ? [type] : type
  if (!isTexts(allowed)) throw malformed('type', 'a string or a list of strings')
  const types = new Set(node.read(allowed))
  node.check((value, evaluation) => {
    const found = typeOf(value)
    if (types.has(found)) return true
    if (types.has('integer') && found === 'number' && Number.isInteger(value)) return true
    return evaluation.refuse(() => `must be ${[...types].slice(0, 10).join(' or ')}, not ${found}`)
  })
}

function addOneOf(values: readonly Json[], node: NodeBuilder): void {
  const scalars = new Set<Json>()
  const texts = new Set<string>()
  for (const value of node.read(values)) {
    if (typeof value === 'object' && value !== null) texts.add(canonicalText(value, node.steps))
    else scalars.add(value)
  }
  node.check((value, evaluation) => {
    const { steps } = evaluation
    if (typeof value === 'string') steps.take(stepsOfText(value))
    const isOne =
      typeof value === 'object' && value !== null
        ? texts.size > 0 && texts.has(canonicalText(value, steps))
        : scalars.has(value)
    return isOne || evaluation.refuse(() => `must be ${values.length === 1 ? '' : 'one of '}${shownAll(values)}`)
  })
}

function shownAll(values: readonly Json[]): string {
  const [only] = values
  return values.length === 1 && only !== undefined ? shown(only) : shown(values).replace(/^\[|\]$/g, '')
}

const stepsOfDivision = 25
const stepsOfFormat = 25

/** Keywords for numbers and strings. */
export function addScalarKeywords(schema: JsonObject, node: NodeBuilder): void {
  addNumberKeywords(schema, node)
  addStringKeywords(schema, node)
}

function addNumberKeywords(schema: JsonObject, node: NodeBuilder): void {
  const bound = (keyword: string, words: string, fits: (value: number, limit: number) => boolean): void => {
    const limit = numberIn(schema, keyword)
    if (limit === undefined) return
    node.checkType(
      'number',
      (value, evaluation) => fits(value as number, limit) || evaluation.refuse(() => `must be ${words} ${limit}`),
    )
  }
  bound('minimum', 'at least', (value, limit) => value >= limit)
  bound('maximum', 'at most', (value, limit) => value <= limit)
  bound('exclusiveMinimum', 'more than', (value, limit) => value > limit)
  bound('exclusiveMaximum', 'less than', (value, limit) => value < limit)
  const divisor = numberIn(schema, 'multipleOf')
  if (divisor === undefined) return
  node.checkType(
    'number',
    (value, evaluation) =>
      isMultipleOf(value as number, divisor, evaluation.steps) ||
      evaluation.refuse(() => `must be a multiple of ${divisor}`),
  )
}

/** Compares decimal digits, so that 0.3 is a multiple of 0.1 despite binary rounding. */
function isMultipleOf(value: number, divisor: number, steps: StepBudget): boolean {
  if (!Number.isFinite(value) || !Number.isFinite(divisor) || divisor <= 0) return false
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0
  const [digits, exponent] = decimal(value)
  const [divisorDigits, divisorExponent] = decimal(divisor)
  const shift = exponent - divisorExponent
  steps.take(stepsOfDivision + (Math.abs(shift) >> 3))
  return shift >= 0
    ? (digits * 10n ** BigInt(shift)) % divisorDigits === 0n
    : digits % (divisorDigits * 10n ** BigInt(-shift)) === 0n
}

/** A number as its digits times ten to the exponent. */
function decimal(value: number): [digits: bigint, exponent: number] {
  const [coefficient = '', exponent = '0'] = Math.abs(value).toString().split('e')
  const [whole = '', fraction = ''] = coefficient.split('.')
  return [BigInt(whole + fraction), Number(exponent) - fraction.length]
}

function addStringKeywords(schema: JsonObject, node: NodeBuilder): void {
  const min = numberIn(schema, 'minLength')
  const max = numberIn(schema, 'maxLength')
  if (min !== undefined || max !== undefined) node.checkType('string', lengthCheck(min ?? 0, max ?? Infinity))

  const source = textIn(schema, 'pattern')
  if (source !== undefined) {
    const matches = node.pattern(source)
    node.checkType(
      'string',
      (value, evaluation) =>
        matches(value as string, evaluation.steps) || evaluation.refuse(() => `must match the pattern ${clip(source)}`),
    )
  }
  const format = textIn(schema, 'format')
  const check = format === undefined ? undefined : formatCheck(format)
  if (!check) return
  node.checkType('string', (value, evaluation) => {
    evaluation.steps.take(stepsOfFormat + 2 * stepsOfText(value as string))
    return check(value as string, evaluation.steps) || evaluation.refuse(() => `is not of the format ${format}`)
  })
}

function lengthCheck(min: number, max: number): Parameters<NodeBuilder['checkType']>[1] {
  return (value, evaluation) => {
    evaluation.steps.take(2 * stepsOfText(value as string))
    const length = characters(value as string)
    if (length < min) return evaluation.refuse(() => `must have at least ${min} characters, not ${length}`)
    if (length > max) return evaluation.refuse(() => `must have at most ${max} characters, not ${length}`)
    return true
  }
}

/** The number of code points, not of UTF-16 units. */
function characters(text: string): number {
  let count = text.length
  for (let index = 0; index + 1 < text.length; index++) {
    if (text.codePointAt(index)! > 0xffff) {
      count -= 1
      index += 1
    }
  }
  return count
}

/** Whether a text has a format. Simple checks take linear time; others count steps. */
type FormatCheck = (text: string, steps: StepBudget) => boolean

/** The check of a known format. Unknown formats accept every value. */
function formatCheck(name: string): FormatCheck | undefined {
  return formats.get(name)
}

function date(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? []
  if (year === undefined) return false
  const isLeapYear = Number(year) % 4 === 0 && (Number(year) % 100 !== 0 || Number(year) % 400 === 0)
  const days = [31, isLeapYear ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][Number(month) - 1] ?? 0
  return Number(day) >= 1 && Number(day) <= days
}

/** A leap second is allowed only at the end of a UTC day. */
function time(text: string): boolean {
  const [, ...parts] = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))$/i.exec(text) ?? []
  if (parts.length === 0) return false
  const [hour, minute, second, offsetHour, offsetMinute] = [parts[0], parts[1], parts[2], parts[4], parts[5]].map(
    (part) => Number(part ?? 0),
  ) as [number, number, number, number, number]
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return false
  const offset = (parts[3] === '-' ? -1 : 1) * (offsetHour * 60 + offsetMinute)
  const minuteOfDay = (hour * 60 + minute - offset + 2 * 1440) % 1440
  return second < 60 || minuteOfDay === 1439
}

function dateTime(text: string): boolean {
  const [day, clock, ...more] = text.split(/t|\s/i, 3)
  return more.length === 0 && date(day!) && time(clock ?? '')
}

const clockPart = '(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)'
const dayPart = '(?:\\d+Y(?:\\d+M(?:\\d+D)?)?|\\d+M(?:\\d+D)?|\\d+D)'
const duration = new RegExp(`^P(?:\\d+W|${dayPart}(?:T${clockPart})?|T${clockPart})$`)

function hostname(text: string): boolean {
  const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
  return text.length <= 253 && text.split('.').every((part) => label.test(part))
}

function email(text: string): boolean {
  if (text.length > 64 + 1 + 253) return false
  const quoted = /^"(?:[ !#-[\]-~]|\\[ -~])*"@/.exec(text)
  const [local = ''] = quoted ?? /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]+@/i.exec(text) ?? []
  const name = local.slice(0, -1)
  const host = text.slice(local.length)
  if (name === '' || name.length > 64 || host === '' || host.length > 253) return false
  if (!quoted && (name.startsWith('.') || name.endsWith('.') || name.includes('..'))) return false
  const [, address] = /^\[(.*)\]$/.exec(host) ?? []
  if (address === undefined) return hostname(host)
  return /^ipv6:/i.test(address) ? ipv6(address.slice(5)) : ipv4(address)
}

const looseByte = /^(?:25[0-5]|2[0-4]\d|[01]?\d\d?)$/
const strictByte = /^(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$/

function ipv4(text: string, byte = looseByte): boolean {
  const bytes = text.length > 15 ? [] : text.split('.')
  return bytes.length === 4 && bytes.every((part) => byte.test(part))
}

/** Eight groups of 16 bits. The last two may be written as IPv4, and '::' stands for one or more zero groups. */
function ipv6(text: string, byte = strictByte): boolean {
  if (text.length > 45) return false
  const halves = text.split('::')
  if (halves.length > 2) return false
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')))
  const isV4 = groups.at(-1)?.includes('.') === true && halves.at(-1) !== ''
  if (isV4 && !ipv4(groups.pop()!, byte)) return false
  const count = groups.length + (isV4 ? 2 : 0)
  return groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group)) && (halves.length === 2 ? count <= 7 : count === 8)
}

/** Characters of a URI part. Percent escapes are checked separately. */
const uriCharacters = "a-z0-9\\-._~!$&'()*+,;=:@%"
const uriParts = uriPartsOf('')
const referenceParts = uriPartsOf('"')

function uriPartsOf(more: string) {
  const only = (characters: string) => new RegExp(`^[${uriCharacters}${characters}${more}]*$`, 'i')
  return { path: only('/'), rest: only('/?') }
}

function uri(text: string): boolean {
  const [scheme] = /^[a-z][a-z0-9+\-.]*:/i.exec(text) ?? []
  return scheme !== undefined && isHierarchicalPart(text.slice(scheme.length), uriParts, false)
}

function uriReference(text: string): boolean {
  const [scheme = ''] = /^[a-z][a-z0-9+\-.]*:/i.exec(text) ?? []
  return isHierarchicalPart(text.slice(scheme.length), referenceParts, true)
}

/** Checks what follows the scheme. */
function isHierarchicalPart(text: string, parts: typeof uriParts, mayBeEmpty: boolean): boolean {
  if (/%(?![0-9a-f]{2})/i.test(text)) return false
  const [before, fragment] = splitAt(text, '#')
  const [place, query] = splitAt(before, '?')
  if (!parts.rest.test(query) || !parts.rest.test(fragment)) return false
  if (place === '') return mayBeEmpty
  // Host names use only characters that a path may contain.
  if (parts.path.test(place)) return true
  const [, literal, path = ''] = addressed.exec(place) ?? []
  return literal !== undefined && isHostLiteral(literal) && parts.path.test(path)
}

function splitAt(text: string, mark: string): [string, string] {
  const index = text.indexOf(mark)
  return index === -1 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)]
}

/** A host in brackets, with an optional user before it and a path after it. */
const addressed = /^\/{1,2}(?:[a-z0-9\-._~!$&'()*+,;=:%]*@)?\[([^\]/]*)\](?::\d*)?(\/.*)?$/is

function isHostLiteral(text: string): boolean {
  return ipv6(text, looseByte) || /^v[0-9a-f]+\.[a-z0-9\-._~!$&'()*+,;=:]+$/i.test(text)
}

function jsonPointer(text: string): boolean {
  return (text === '' || text.startsWith('/')) && !/~(?![01])/.test(text)
}

function relativeJsonPointer(text: string): boolean {
  const [number] = /^(?:0|[1-9]\d*)/.exec(text) ?? []
  if (number === undefined) return false
  const rest = text.slice(number.length)
  return rest === '#' || jsonPointer(rest)
}

function jsonPointerUriFragment(text: string): boolean {
  return /^#[a-z0-9_\-.!$&'()*+,;:=@%~/]*$/i.test(text) && !/%(?![0-9a-f]{2})/i.test(text) && jsonPointer(text.slice(1))
}

function regex(text: string, steps: StepBudget): boolean {
  steps.take(stepsToParse(text))
  try {
    return !/[^\\]\\Z/.test(text) && new RegExp(text, 'u') !== null
  } catch {
    return false
  }
}

/** A format check by a pattern that is compiled on first use. */
function patternCheck(source: string): FormatCheck {
  let pattern: LinearPattern | null = null
  return (text, steps) => {
    pattern ??= new LinearPattern(source, new StepBudget(Infinity))
    return pattern.test(text, steps)
  }
}

const variable = '(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})+'
const variables = `${variable}(?:\\.${variable})*(?::[1-9][0-9]{0,3}|\\*)?`
const uriTemplate = patternCheck(
  `^(?:[^\\x00-\\x20\\x7f"<>%\\\\^\`{|}]|%[0-9A-Fa-f]{2}|\\{[+#./;?&=,!@|]?${variables}(?:,${variables})*\\})*$`,
)

/** Web URLs with a public host. */
const privateHost = '(?:10|127)(?:\\.\\d{1,3}){3}|(?:169\\.254|192\\.168|172\\.(?:1[6-9]|2\\d|3[01]))(?:\\.\\d{1,3}){2}'
const publicAddress =
  '(?:[1-9]\\d?|1\\d\\d|2[01]\\d|22[0-3])(?:\\.(?:1?\\d{1,2}|2[0-4]\\d|25[0-5])){2}\\.(?:[1-9]\\d?|1\\d\\d|2[0-4]\\d|25[0-4])'
const letters = 'a-zA-Z\\u{a1}-\\u{ffff}'
const webName = `(?:[${letters}0-9]+(?:-[${letters}0-9]+)*\\.)+[${letters}]{2,}`
const url = patternCheck(
  `^(?:[hH][tT][tT][pP][sS\\u{17f}]?|[fF][tT][pP])://(?:\\S+@)?(?:(?!${privateHost})${publicAddress}|${webName})(?::\\d{2,5})?(?:/\\S*)?$`,
)

const formats = new Map<string, FormatCheck>(
  Object.entries({
    date,
    time,
    'date-time': dateTime,
    duration: (text) => duration.test(text),
    uri,
    'uri-reference': uriReference,
    'uri-template': uriTemplate,
    url,
    email,
    hostname,
    ipv4: (text) => ipv4(text),
    ipv6: (text) => ipv6(text),
    regex,
    uuid: (text) => /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text),
    'json-pointer': jsonPointer,
    'json-pointer-uri-fragment': jsonPointerUriFragment,
    'relative-json-pointer': relativeJsonPointer,
  } satisfies Record<string, FormatCheck>),
)
