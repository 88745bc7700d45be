import type { Browser, BrowserContext, Page } from 'playwright-core'

export type PageOptions = {
  /** Who is signed in. Default: `ann`. */
  readonly user?: string
  readonly tenant?: string
  /** Default: 1440. At most 600 also has touch. */
  readonly width?: number
  readonly height?: number
  readonly dark?: boolean
  /** Errors in the console that this test causes on purpose, such as `/status of 409/`. */
  readonly expected?: readonly RegExp[]
}

/** A page of the studio, and everything that must not have happened on it. */
export type StudioPage = {
  readonly page: Page
  readonly context: BrowserContext
  /** What went wrong so far: errors, violations of the content security policy, requests to other origins. */
  readonly problems: readonly string[]
  /** Those so far, which the test is about: they are not held against it any more. */
  takeProblems(): string[]
}

/** The cookie that `authenticate` of the test server reads. */
export const userCookie = 'studio-user'

/** Opens a page with cookies and storage of its own, signed in as a user of the test server at `url`. */
export async function studioPage(browser: Browser, url: string, options: PageOptions = {}): Promise<StudioPage> {
  const { user = 'ann', tenant = '', width = 1440, height = width <= 600 ? 844 : 900, dark = false } = options
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    hasTouch: width <= 600,
    reducedMotion: 'reduce',
    locale: 'en-US',
  })
  // As long as a machine may be busy that does much else.
  context.setDefaultTimeout(60_000)
  await context.addCookies([{ name: userCookie, value: encodeURIComponent(JSON.stringify({ user, tenant })), url }])
  const problems: string[] = []
  const report = (problem: string): void => {
    if (!(options.expected ?? []).some((pattern) => pattern.test(problem))) problems.push(problem)
  }
  await context.exposeBinding('reportViolation', (_, violation: string) =>
    report(`content security policy: ${violation}`),
  )
  await context.addInitScript(() => {
    const { reportViolation } = globalThis as unknown as { reportViolation(violation: string): void }
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile }) =>
      reportViolation(`${violatedDirective} blocked ${blockedURI} (${sourceFile})`),
    )
  })
  const { origin } = new URL(url)
  context.on('request', (request) => {
    const address = request.url()
    if (!address.startsWith(`${origin}/`) && !/^(data|blob):/.test(address)) report(`request to ${address}`)
  })
  context.on('console', (message) => {
    if (message.type() === 'error') report(`console: ${message.text()} (${message.location().url})`)
  })
  context.on('weberror', (thrown) => report(`the page threw: ${thrown.error().stack ?? String(thrown.error())}`))
  return { page: await context.newPage(), context, problems, takeProblems: () => problems.splice(0) }
}
