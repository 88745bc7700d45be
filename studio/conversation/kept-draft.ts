const prefix = 'perdure.draft.'
const mostCharacters = 100_000

/** What was typed and not sent, in this tab. */
export function keptDraft(id: string): string {
  return sessionStorage.getItem(prefix + id) ?? ''
}

export function keepDraft(id: string, text: string): void {
  if (text === '') return sessionStorage.removeItem(prefix + id)
  try {
    sessionStorage.setItem(prefix + id, text.slice(0, mostCharacters))
  } catch {
    // The storage of the tab is full: the text is still in the page.
  }
}
