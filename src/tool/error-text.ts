const maxLength = 8_192

/** What was thrown, as text a model can read. Never throws, whatever it is given; never empty, never long. */
export function errorText(thrown: unknown): string {
  let text: string
  try {
    text = describe(thrown)
  } catch {
    text = 'it threw something that cannot be shown'
  }
  return shorten(text)
}

/** At most 8,192 characters, with a note of what was left out. */
export function shorten(text: string): string {
  if (text.length <= maxLength) return text
  const note = ` ... (${text.length} characters in all)`
  return text.slice(0, maxLength - note.length).toWellFormed() + note
}

function describe(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown || 'it threw an empty string'
  if (thrown instanceof Error) return String(thrown.message) || thrown.name || 'it threw an error without a message'
  if (typeof thrown !== 'object' || thrown === null) return `it threw ${String(thrown)}`
  const { message } = thrown as { message?: unknown }
  if (typeof message === 'string' && message !== '') return message
  return `it threw ${JSON.stringify(thrown)}`
}
