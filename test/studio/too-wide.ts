import type { Page } from 'playwright-core'

/** The elements that stick out of the page, and those that scroll sideways although they hold neither code nor a table. */
export function tooWide(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = []
    for (const element of document.body.querySelectorAll('*')) {
      const { overflowX } = getComputedStyle(element)
      const scrolls = (overflowX === 'auto' || overflowX === 'scroll') && element.scrollWidth > element.clientWidth + 1
      if (scrolls && !element.matches('pre, textarea, [data-scrolls-sideways]'))
        found.push(element.outerHTML.slice(0, 160))
    }
    if (document.documentElement.scrollWidth > innerWidth)
      found.push(`the page is ${document.documentElement.scrollWidth} px wide`)
    return found
  })
}
