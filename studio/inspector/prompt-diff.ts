import type { Json } from 'perdure/client'

/** A message of a rendered prompt. */
export type PromptMessage = { readonly role: string; readonly content: Json; readonly text: string }

/** A message against the prompt before. `changed` has what it was. */
export type PromptLine =
  | { readonly change: 'same' | 'added' | 'removed'; readonly message: PromptMessage }
  | { readonly change: 'changed'; readonly message: PromptMessage; readonly was: PromptMessage }

/** The difference between two prompts. */
export type PromptDiff = {
  readonly lines: readonly PromptLine[]
  readonly added: number
  readonly removed: number
  readonly changed: number
  /** How many messages both begin with: what a provider can take from its prompt cache. */
  readonly common: number
  /** The index of the first message that is not as before, where the cache broke. Null: the earlier prompt is the beginning of this one. */
  readonly brokenAt: number | null
}

/** The messages of a rendered prompt, or null where it was not recorded. Anything may be in an audit row of another version. */
export function promptMessages(renderedContext: Json): PromptMessage[] | null {
  if (!Array.isArray(renderedContext)) return null
  return (renderedContext as readonly Json[]).map((message) => {
    const { role, content = null } = Object(message) as { role?: unknown; content?: Json }
    return { role: typeof role === 'string' ? role : 'unknown', content, text: textOf(content) }
  })
}

export function promptDiff(before: readonly PromptMessage[], now: readonly PromptMessage[]): PromptDiff {
  const keysBefore = before.map(keyOf)
  const keysNow = now.map(keyOf)
  let common = 0
  while (common < keysNow.length && keysNow[common] === keysBefore[common]) common += 1
  let tail = 0
  const mostTail = Math.min(keysBefore.length, keysNow.length) - common
  while (tail < mostTail && keysBefore.at(-1 - tail) === keysNow.at(-1 - tail)) tail += 1
  const middle = between(
    { messages: before.slice(common, before.length - tail), keys: keysBefore.slice(common, before.length - tail) },
    { messages: now.slice(common, now.length - tail), keys: keysNow.slice(common, now.length - tail) },
  )
  const same = (message: PromptMessage): PromptLine => ({ change: 'same', message })
  const lines = [...now.slice(0, common).map(same), ...middle, ...now.slice(now.length - tail).map(same)]
  const count = (change: PromptLine['change']): number => lines.filter((line) => line.change === change).length
  return {
    lines,
    added: count('added'),
    removed: count('removed'),
    changed: count('changed'),
    common,
    brokenAt: common < before.length ? common : null,
  }
}

type Side = { readonly messages: readonly PromptMessage[]; readonly keys: readonly string[] }

/** More than this many pairs are not compared one by one: all of one side is gone, and all of the other is new. */
const mostPairs = 4_000_000

function between(before: Side, now: Side): PromptLine[] {
  if (before.keys.length * now.keys.length > mostPairs) return paired(before.messages, now.messages)
  const lines: PromptLine[] = []
  const lengths = commonLengths(before.keys, now.keys)
  let [b, n] = [0, 0]
  let [gone, come]: [PromptMessage[], PromptMessage[]] = [[], []]
  const flush = (): void => {
    lines.push(...paired(gone, come))
    ;[gone, come] = [[], []]
  }
  while (b < before.keys.length || n < now.keys.length) {
    const isSame = b < before.keys.length && n < now.keys.length && before.keys[b] === now.keys[n]
    if (isSame) {
      flush()
      lines.push({ change: 'same', message: now.messages[n]! })
      ;[b, n] = [b + 1, n + 1]
    } else if (n >= now.keys.length || (b < before.keys.length && lengths[b + 1]![n]! >= lengths[b]![n + 1]!)) {
      gone.push(before.messages[b++]!)
    } else come.push(now.messages[n++]!)
  }
  flush()
  return lines
}

/** Of what is gone and what has come in one place, messages of the same role are the same message, changed. */
function paired(gone: readonly PromptMessage[], come: readonly PromptMessage[]): PromptLine[] {
  const left = [...gone]
  const lines: PromptLine[] = []
  for (const message of come) {
    const index = left.findIndex(({ role }) => role === message.role)
    if (index < 0) lines.push({ change: 'added', message })
    else {
      for (const removed of left.splice(0, index)) lines.push({ change: 'removed', message: removed })
      lines.push({ change: 'changed', message, was: left.shift()! })
    }
  }
  return [...lines, ...left.map((message): PromptLine => ({ change: 'removed', message }))]
}

/** `lengths[i][j]`: how many keys the rest of one from i and of the other from j have in common, in order. */
function commonLengths(one: readonly string[], other: readonly string[]): Uint32Array[] {
  const lengths = Array.from({ length: one.length + 1 }, () => new Uint32Array(other.length + 1))
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      lengths[i]![j] =
        one[i] === other[j] ? lengths[i + 1]![j + 1]! + 1 : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!)
    }
  }
  return lengths
}

function keyOf({ role, content }: PromptMessage): string {
  return `${role} ${JSON.stringify(content)}`
}

/** What a person reads of a message's content. */
function textOf(content: Json): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return JSON.stringify(content, null, 2)
  return (content as readonly Json[]).map(partText).join('\n')
}

function partText(part: Json): string {
  const { type, text, toolName, input, output } = Object(part) as Record<string, Json>
  if (typeof text === 'string') return type === 'reasoning' ? `[reasoning] ${text}` : text
  if (type === 'tool-call') return `${toolName} ${JSON.stringify(input)}`
  if (type === 'tool-result') return `${toolName}: ${outputText(output ?? null)}`
  return JSON.stringify(part)
}

function outputText(output: Json): string {
  const { value } = Object(output) as { value?: Json }
  if (typeof value === 'string') return value
  return JSON.stringify(value ?? output)
}
