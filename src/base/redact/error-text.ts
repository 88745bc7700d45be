/** So much that what is cut off here is also past what `createRedactor` shows: a cut must not leave half a secret that no rule knows. */
const maxLength = 32_768

/** What was thrown, as text a model can read. Never throws, whatever it is given; never empty. Secrets are still in it: see `createRedactor`. */
export function errorText(thrown: unknown): string {
  try {
    return describe(thrown).slice(0, maxLength).toWellFormed()
  } catch {
    return 'it threw something that cannot be shown'
  }
}

function describe(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown || 'it threw an empty string'
  if (thrown instanceof Error) return String(thrown.message) || thrown.name || 'it threw an error without a message'
  if (typeof thrown !== 'object' || thrown === null) return `it threw ${String(thrown)}`
  const { message } = thrown as { message?: unknown }
  if (typeof message === 'string' && message !== '') return message
  return `it threw ${JSON.stringify(thrown)}`
}
