type Element = string | number | boolean | null

/** A Postgres array as text, of what `read` finds in each item. Must be fast: a batch has about twenty of them. */
export function arrayLiteral<T>(items: readonly T[], read: (item: T) => Element): string {
  let text = '{'
  for (let index = 0; index < items.length; index++) {
    const element = read(items[index]!)
    if (index > 0) text += ','
    if (typeof element === 'string') text += quote(element)
    else text += element === null ? 'NULL' : element
  }
  return `${text}}`
}

/** Without control characters and lone surrogates, which ids and encoded values do not have, JSON escapes just what an array does. */
function quote(text: string): string {
  if (text.isWellFormed() && !control.test(text)) return JSON.stringify(text)
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const control = /[\u0000-\u001f]/
