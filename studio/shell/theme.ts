/** `system`: as the system says, also when it changes. */
export type Theme = 'system' | 'light' | 'dark'

const key = 'perdure.theme'

export function chosenTheme(): Theme {
  const kept = localStorage.getItem(key)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

export function applyTheme(theme: Theme = chosenTheme()): void {
  if (theme === 'system') {
    localStorage.removeItem(key)
    delete document.documentElement.dataset['theme']
    return
  }
  localStorage.setItem(key, theme)
  document.documentElement.dataset['theme'] = theme
}
