type Element = string | number | boolean | null

/** A Postgres array as text. Faster than the general one of `pg`, because the kinds of elements are known. */
export function arrayLiteral(elements: readonly Element[]): string {
  let text = '{'
  for (let index = 0; index < elements.length; index++) {
    if (index > 0) text += ','
    const element = elements[index]!
    if (typeof element === 'string') text += `"${element.replace(special, '\\$&')}"`
    else text += element === null ? 'NULL' : String(element)
  }
  return `${text}}`
}

const special = /["\\]/g
