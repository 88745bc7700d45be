import stringWidth from 'fast-string-width'

export type StyledCell = { readonly text: string; readonly width: number; readonly style: readonly number[] }

const plainText = /^\P{Cc}+/u
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
const escapeSequence = /^\u001b\[([?\d;]*)([a-zA-Z])/
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
const beginning = /^\u001b(\[[?\d;]*)?$/

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/**
 * What a terminal shows of what was written to it: lines without end, so that whatever scrolled by can be looked at. Knows the sequences that the
 * chat writes, and throws on any other, so that a stray one is a failing test.
 */
export class TerminalModel {
  readonly #columns: number
  readonly #rows: StyledCell[][] = [[]]
  #row = 0
  #column = 0
  #style: number[] = []
  #rest = ''

  constructor(columns: number) {
    this.#columns = columns
  }

  write(data: string): void {
    let text = this.#rest + data
    this.#rest = ''
    while (text !== '') {
      const plain = plainText.exec(text)?.[0]
      if (plain !== undefined) {
        this.#put(plain)
        text = text.slice(plain.length)
        continue
      }
      if (text.startsWith('\u001b')) {
        const sequence = escapeSequence.exec(text)
        if (!sequence) {
          if (beginning.test(text)) {
            this.#rest = text
            return
          }
          throw new Error(`an unexpected escape sequence: ${JSON.stringify(text.slice(0, 20))}`)
        }
        this.#obey(sequence[1]!, sequence[2]!)
        text = text.slice(sequence[0].length)
        continue
      }
      if (text.startsWith('\r')) this.#column = 0
      else if (text.startsWith('\n')) this.#newLine()
      else throw new Error(`an unexpected control character: ${JSON.stringify(text[0])}`)
      text = text.slice(1)
    }
  }

  rows(): readonly (readonly StyledCell[])[] {
    return this.#rows
  }

  text(): string {
    return this.#rows
      .map((row) =>
        row
          .map((cell) => cell.text)
          .join('')
          .trimEnd(),
      )
      .join('\n')
  }

  #put(text: string): void {
    for (const { segment: shown } of segmenter.segment(text)) {
      const width = stringWidth(shown)
      if (this.#column + width > this.#columns) {
        this.#column = 0
        this.#newLine()
      }
      const row = this.#rows[this.#row]!
      while (row.length < this.#column) row.push({ text: ' ', width: 1, style: [] })
      row.splice(this.#column, 1, { text: shown, width, style: [...this.#style] })
      this.#column += 1
    }
  }

  #newLine(): void {
    this.#row += 1
    if (this.#row === this.#rows.length) this.#rows.push([])
  }

  #obey(numbers: string, letter: string): void {
    const count = Number(numbers || 1)
    switch (letter) {
      case 'A':
        this.#row = Math.max(0, this.#row - count)
        return
      case 'C':
        this.#column += count
        return
      case 'J':
        this.#rows[this.#row]!.splice(this.#column)
        this.#rows.splice(this.#row + 1)
        return
      case 'm':
        this.#paint(numbers.split(';').map(Number))
        return
      case 'h':
      case 'l':
        if (numbers === '?2004') return
    }
    throw new Error(`an unexpected escape sequence: ESC[${numbers}${letter}`)
  }

  #paint(codes: readonly number[]): void {
    for (const code of codes) {
      if (code === 0) this.#style = []
      else if (code === 22) this.#style = this.#style.filter((one) => one !== 1 && one !== 2)
      else if (code === 39) this.#style = this.#style.filter((one) => one < 30)
      else this.#style.push(code)
    }
  }
}
