import { createClient } from 'perdure/client'
import { useSyncExternalStore } from 'react'
import { apiUrl, studioPath } from '../addresses.ts'
import { askOtherTabs, hearOtherTabs, tellOtherTabs } from './other-tabs.ts'
import { forget, recall, remember } from './tab-storage.ts'

/** The secrets of a signed-in page. They never are in an address, and end with the tab. */
export type Tokens = { readonly token: string | null; readonly operatorToken: string | null }

/** What the page knows about its own sign-in. */
export type SignInState =
  | { readonly status: 'checking' }
  | { readonly status: 'signed-in' }
  /** `problem`: what went wrong, if the person did not just arrive. `hasCodes`: whether a command prints an address that signs in. */
  | { readonly status: 'signed-out'; readonly problem: string | null; readonly hasCodes: boolean }
  | { readonly status: 'unreachable'; readonly problem: string }

/** The answer of the server to the first question of the page. */
type ServerSession = { readonly isSignedIn: boolean; readonly isOperator: boolean; readonly hasCodes: boolean }

const noTokens: Tokens = { token: null, operatorToken: null }
const place = `perdure-session ${studioPath}`
const returnTo = `perdure-return ${studioPath}`
/** That the server no longer knows the session: a reload of the sign-in says so again. */
const wasLost = `perdure-lost ${studioPath}`

// Before anything reads the address: the code must not stay where it can be seen, kept or sent on.
const code = takeCode()
let tokens: Tokens = storedTokens()
/** The tokens that the server did not accept. Until others are there, those of other tabs are tried. */
let refused: Tokens | null = null
let checking: Promise<void> | null = null
let taking: Promise<void> = Promise.resolve()
/** Whether the identity of the request, such as a cookie, is that of an operator. */
let isOperator = false
let state: SignInState = { status: 'checking' }
let hasBegun = false
const listeners = new Set<() => void>()

/** Every page calls the server through this one: each call says who asks. One that is refused is made again when another tab has a session, and leads to the sign-in otherwise. */
export const client = createClient({
  url: apiUrl,
  token: () => tokens.token,
  operatorToken: operatorTokenOf,
  fetch: async (input, init) => {
    const asked = tokens
    const response = await fetch(input, init)
    if (response.status !== 401 || state.status !== 'signed-in') return response
    if (tokens === asked) await check()
    if (tokens === asked || state.status !== 'signed-in') return response
    const headers = new Headers(init?.headers)
    for (const [name, value] of Object.entries(headersOf(tokens))) headers.set(name, value)
    return fetch(input, { ...init, headers })
  },
})

/** What a request of the page's own must say, such as one for a file: who asks. */
export function userHeaders(): Record<string, string> {
  return headersOf({ ...tokens, operatorToken: null })
}

export function useSignIn(): SignInState {
  if (!hasBegun) {
    hasBegun = true
    void begin()
  }
  return useSyncExternalStore(subscribe, () => state)
}

/** Tries secrets that a person has typed. Returns what is wrong with them, or null. */
export async function signInWith(given: Tokens): Promise<string | null> {
  const session = await askServer(given).catch((error: unknown) => problemOf(error))
  if (typeof session === 'string') return session
  if (!session.isSignedIn) return 'The server does not accept this token.'
  if (given.operatorToken !== null && !session.isOperator) return 'The server does not accept the operator token.'
  keep(given)
  enter(session)
  return null
}

async function begin(): Promise<void> {
  hearOtherTabs({
    current: () => (state.status === 'signed-in' && tokens.token !== null && tokens !== refused ? tokens : null),
    onSession: takeOver,
  })
  // A page that stays at its sign-in may be given the printed address, too: then only what is behind the # changes.
  window.addEventListener('hashchange', () => {
    const given = takeCode()
    if (given !== null) void exchange(given)
  })
  await (code === null ? check() : exchange(code))
}

async function exchange(given: string): Promise<void> {
  let problem: string | null = null
  try {
    keep({ ...noTokens, ...(await post({ code: given })) })
    goBack()
  } catch (error) {
    // A page that was signed in before goes on: its address may have been opened twice.
    problem = problemOf(error)
  }
  await checking
  await check(problem)
  // Not before the server has confirmed it: from here on a tab that asks is answered.
  if (problem === null && state.status === 'signed-in') tellOtherTabs(tokens)
}

/** One at a time: many requests may be refused at once. */
function check(problem: string | null = null): Promise<void> {
  checking ??= checkOnce(problem).finally(() => {
    checking = null
  })
  return checking
}

async function checkOnce(problem: string | null): Promise<void> {
  const asked = tokens
  try {
    const session = await askServer(asked)
    // Meanwhile the person signed in, here or in another tab.
    if (tokens !== asked) return await checkOnce(problem)
    if (session.isSignedIn) return enter(session)
    refused = asked
    const wasKnown = asked.token !== null || state.status === 'signed-in' || recall(wasLost) !== null
    if (session.hasCodes) await askOtherTabs(() => tokens !== asked)
    await taking
    if (tokens !== asked) return await checkOnce(problem)
    keep(noTokens)
    remember(returnTo, location.pathname + location.search)
    if (wasKnown) remember(wasLost, 'yes')
    const lost = wasKnown ? 'The server no longer knows this session. It may have been started again since.' : null
    become({ status: 'signed-out', problem: problem ?? lost, hasCodes: session.hasCodes })
  } catch (error) {
    // What a person looks at stays; a connection that is lost is told beside it.
    if (state.status !== 'signed-in') become({ status: 'unreachable', problem: problemOf(error) })
    setTimeout(() => void check(problem), retryMs)
  }
}

const retryMs = 2_000

/** Goes on with the session of another tab where this one has none. Sessions are tried one after the other: a tab may not know yet that its own has ended. */
function takeOver(given: Tokens): void {
  taking = taking.then(async () => {
    const hasNone = state.status === 'signed-out' || tokens === refused
    if (hasNone && given.token !== tokens.token) await signInWith(given)
  })
}

function enter(session: ServerSession): void {
  refused = null
  forget(returnTo)
  forget(wasLost)
  isOperator = session.isOperator
  become({ status: 'signed-in' })
}

/** An operator by cookie still has to say so: the server asks only about calls with this header. */
function operatorTokenOf(): string | null {
  return tokens.operatorToken ?? (isOperator ? 'studio' : null)
}

function takeCode(): string | null {
  const given = /^#code=([\w-]+)$/.exec(location.hash)?.[1] ?? null
  if (given !== null) history.replaceState(history.state, '', location.pathname + location.search)
  return given
}

/** The printed address is that of the studio. A tab that was elsewhere when it had to sign in goes back there. */
function goBack(): void {
  const before = recall(returnTo)
  forget(returnTo)
  const isAtStart = location.pathname.replace(/\/$/, '') === studioPath
  if (before?.startsWith(`${studioPath}/`) && isAtStart) history.replaceState(history.state, '', before)
}

function storedTokens(): Tokens {
  return { ...noTokens, ...(JSON.parse(recall(place) ?? '{}') as Partial<Tokens>) }
}

function keep(given: Tokens): void {
  tokens = given
  if (given.token === null) forget(place)
  else remember(place, JSON.stringify(given))
}

const sessionUrl = new URL('session', document.baseURI)

async function askServer(given: Tokens): Promise<ServerSession> {
  return answerOf(await fetch(sessionUrl, { headers: headersOf(given) }))
}

function headersOf({ token, operatorToken }: Tokens): Record<string, string> {
  return {
    ...(token !== null && { authorization: `Bearer ${token}` }),
    ...(operatorToken !== null && { 'perdure-operator': `Bearer ${operatorToken}` }),
  }
}

async function post(body: { readonly code: string }): Promise<Partial<Tokens>> {
  const headers = { 'content-type': 'application/json' }
  return answerOf(await fetch(sessionUrl, { method: 'POST', headers, body: JSON.stringify(body) }))
}

async function answerOf<T>(response: Response): Promise<T> {
  if (response.ok) return response.json() as Promise<T>
  const { detail } = (await response.json().catch(() => ({}))) as { readonly detail?: string }
  throw new Error(detail ?? `The server answered with status ${response.status}.`)
}

function problemOf(error: unknown): string {
  if (error instanceof TypeError) return 'The server does not answer.'
  return error instanceof Error ? error.message : String(error)
}

function become(next: SignInState): void {
  state = next
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
