/**
 * A serialised value as a checkpoint stores it: whole, or as the end that differs from an earlier value of its channel. So a list of messages that grows takes
 * as much room as its messages, not as much as all its lengths together.
 */
export type StoredText = SerialisedText & {
  /** Absent: `text` is the whole value. */
  readonly base?: TextBase
}

/** A value as LangGraph's serialiser returned it. */
export type SerialisedText = {
  /** What the serialiser calls its format. */
  readonly format: string
  /** The value is not UTF-8, and `text` is its base64. */
  readonly base64?: true
  readonly text: string
}

/** The value begins with the first `keep` characters of the channel's value at `seq`. */
export type TextBase = {
  readonly seq: number
  readonly keep: number
  /** Where the last value is that was stored whole, and how many characters were stored since. */
  readonly whole: number
  readonly added: number
}

/** A value that is in the log, put together. */
export type KnownText = SerialisedText & Pick<TextBase, 'seq' | 'whole' | 'added'>

/** A shorter value is always stored whole. */
const shortText = 512

export function serialisedText([format, bytes]: readonly [string, Uint8Array]): SerialisedText {
  const text = decoded(bytes)
  return text === null ? { format, base64: true, text: Buffer.from(bytes).toString('base64') } : { format, text }
}

export function bytesOf({ base64, text }: SerialisedText): Uint8Array {
  return Buffer.from(text, base64 ? 'base64' : 'utf8')
}

/**
 * What is stored of `value`. `before`: the value that its channel had, or null. A chain of ends is never longer than the whole value it began with, so reading
 * a value reads at most about twice its size, and a value that grows is stored whole each time it has doubled.
 */
export function storedText(value: SerialisedText, before: KnownText | null): StoredText {
  if (!before || before.format !== value.format || before.base64 !== value.base64) return value
  if (before.text.length < shortText) return value
  const keep = commonLength(before.text, value.text)
  const end = value.text.slice(keep)
  const added = before.added + end.length
  if (end.length * 2 > value.text.length || added * 2 > value.text.length) return value
  return { ...value, text: end, base: { seq: before.seq, keep, whole: before.whole, added } }
}

/** The value stored at `seq`, whose base is `before`. */
export function wholeText({ base, ...stored }: StoredText, seq: number, before: KnownText | null): KnownText {
  if (!base) return { ...stored, seq, whole: seq, added: 0 }
  return {
    ...stored,
    text: (before?.text ?? '').slice(0, base.keep) + stored.text,
    seq,
    whole: base.whole,
    added: base.added,
  }
}

function commonLength(one: string, other: string): number {
  const most = Math.min(one.length, other.length)
  // A list that grew differs first at its closing bracket. Comparing whole strings is many times quicker than comparing characters.
  const likely = most - 1
  if (likely > 0 && other.startsWith(one.slice(0, likely))) return one[likely] === other[likely] ? most : likely
  let length = 0
  while (length < most && one.charCodeAt(length) === other.charCodeAt(length)) length++
  return length
}

function decoded(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}
