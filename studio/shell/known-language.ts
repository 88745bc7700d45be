/**
 * Gives the page a language that Intl knows. Chrome on a machine without a locale says "en-US@posix", and code that formats numbers in
 * `navigator.language`, as the charts do, throws while it is loaded. Must be called before such code is.
 */
export function applyKnownLanguage(): void {
  try {
    Intl.getCanonicalLocales(navigator.language)
  } catch {
    const { locale } = Intl.NumberFormat().resolvedOptions()
    Object.defineProperty(navigator, 'language', { value: locale, configurable: true })
  }
}
