/**
 * Characters that turn text around, have no width, or that a terminal would obey: what they do must be seen before anything is approved. What joins the parts of
 * an emoji, or parts the letters of a Persian word, is seen.
 */
const unseen =
  /(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d(?=\p{Extended_Pictographic})|(?<=\p{Script=Arabic})\u200c(?=\p{Script=Arabic})|((?![\n\t\r])\p{Cc}|\p{Cf}|[\u2028\u2029])/gu

/** Text as it may stand among other text: nothing in it changes the direction of what is around it, or hides. */
export function shownText(text: string): string {
  return text.toWellFormed().replaceAll(unseen, (found, hidden?: string) => (hidden ? numberOf(hidden) : found))
}

/** Whether a text has characters that a person cannot see. */
export function hiddenIn(text: string): boolean {
  return [...text.matchAll(unseen)].some(([, hidden]) => hidden !== undefined)
}

function numberOf(character: string): string {
  return `‹${character.codePointAt(0)!.toString(16).padStart(4, '0')}›`
}

/** The beginning of a text in one line. */
export function oneLine(text: string, most = 200): string {
  const line = shownText(text.slice(0, most + 1))
    .replaceAll(/\s+/g, ' ')
    .trim()
  return text.length > most ? `${line.slice(0, most)}…` : line
}

/** The beginning of a text of a model in one line, without the simplest marks of markdown: a list shows words, and no layout. */
export function excerpt(text: string, most = 200): string {
  const plain = text
    .slice(0, 2 * most)
    .replaceAll(/^ {0,3}(#{1,6} |> ?|[-*+] (?=\S)|`{3}.*$)/gm, '')
    .replaceAll(/!?\[([^\]\n]*)\]\([^)\s]*\)/g, '$1')
    .replaceAll(/(\*\*|__|~~)(?=\S)([^\n]*?\S)\1/g, '$2')
    .replaceAll(/`([^`\n]+)`/g, '$1')
  const line = oneLine(plain, most)
  return text.length > 2 * most && !line.endsWith('…') ? `${line}…` : line
}

const bytes = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

/** As in `1.5 kB`. */
export function byteSize(count: number): string {
  if (count < 1_000) return `${count} B`
  return count < 1_000_000 ? `${bytes.format(count / 1_000)} kB` : `${bytes.format(count / 1_000_000)} MB`
}
