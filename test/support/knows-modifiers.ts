/** Whether regular expressions of this Node may change flags within, as in `(?i:a)`. Node 22 refuses them itself, as no regular expression. */
export const knowsModifiers = isPattern('(?i:a)')

function isPattern(source: string): boolean {
  try {
    return new RegExp(source, 'u').test('A')
  } catch {
    return false
  }
}
