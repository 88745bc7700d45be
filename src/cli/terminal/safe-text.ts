/** Text that may go to a terminal as it is: what came from outside has been escaped, what is left are our own colours. */
export class SafeText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Anything that can be printed. A string is never trusted: it is escaped on its way. */
export type Printable = string | number | SafeText

/** A template whose values are escaped, unless they are safe already. */
export function safe(strings: TemplateStringsArray, ...values: readonly Printable[]): SafeText {
  return new SafeText(
    strings.map((piece, index) => piece + (index < values.length ? safely(values[index]!) : '')).join(''),
  )
}

export function safely(value: Printable): string {
  return value instanceof SafeText ? value.text : escaped(String(value))
}

export function joined(values: readonly Printable[], separator = ''): SafeText {
  return new SafeText(values.map(safely).join(separator))
}

/**
 * Whatever a terminal could take for a command is shown instead of sent: control characters (C0 but for tab and newline, DEL, C1), and
 * characters that change the direction of text, which can make a line read as another.
 */
function escaped(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(dangerous, (character) => {
    const code = character.codePointAt(0)!
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`
  })
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const dangerous = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** JSON leaves DEL, C1 and changes of direction as they are, and a terminal may act on them. */
export function safeJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent) ?? 'null'
  return text.replaceAll(dangerous, (character) => {
    if (character.charCodeAt(0) < 0x20) return character
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
