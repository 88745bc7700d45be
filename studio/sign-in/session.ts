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

// Before anything reads the address: the code must not stay where it can be seen, kept or sent on.
let code = takeCode()
let tokens: Tokens = storedTokens()
/** Whether the identity of the request, such as a cookie, is that of an operator. */
let isOperator = false
let state: SignInState = { status: 'checking' }
let hasBegun = false
const listeners = new Set<() => void>()

/** Every page calls the server through this one: each call says who asks, and one that is refused leads back to the sign-in. */
export const client = createClient({
  url: apiUrl,
  token: () => tokens.token,
  operatorToken: operatorTokenOf,
  fetch: async (input, init) => {
    const response = await fetch(input, init)
    if (response.status === 401 && state.status === 'signed-in') void check()
    return response
  },
})

/** What a request of the page's own must say, such as one for a file: who asks. */
export function userHeaders(): Record<string, string> {
  return tokens.token === null ? {} : { authorization: `Bearer ${tokens.token}` }
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
  forget(returnTo)
  return null
}

async function begin(): Promise<void> {
  hearOtherTabs({
    current: () => (state.status === 'signed-in' && tokens.token !== null ? tokens : null),
    // A new address opens in a new tab. This one goes on where it was.
    onSession: (given) => state.status === 'signed-out' && void signInWith(given),
  })
  let problem: string | null = null
  if (code !== null) {
    const given = code
    code = null
    try {
      keep({ ...noTokens, ...(await post({ code: given })) })
      tellOtherTabs(tokens)
      goBack()
    } catch (error) {
      // A page that was signed in before goes on: its address may have been opened twice.
      problem = problemOf(error)
    }
  }
  await check(problem)
}

async function check(problem: string | null = null): Promise<void> {
  try {
    let session = await askServer(tokens)
    const wasKnown = tokens.token !== null || state.status === 'signed-in'
    if (!session.isSignedIn && session.hasCodes) {
      const found = await askOtherTabs()
      if (found && found.token !== tokens.token) {
        keep(found)
        session = await askServer(tokens)
      }
    }
    if (session.isSignedIn) return enter(session)
    keep(noTokens)
    remember(returnTo, location.pathname + location.search)
    const lost = wasKnown ? 'The server no longer knows this session. It may have been started again since.' : null
    become({ status: 'signed-out', problem: problem ?? lost, hasCodes: session.hasCodes })
  } catch (error) {
    become({ status: 'unreachable', problem: problemOf(error) })
    setTimeout(() => void check(problem), retryMs)
  }
}

const retryMs = 2_000

function enter(session: ServerSession): void {
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

async function askServer({ token, operatorToken }: Tokens): Promise<ServerSession> {
  const headers = {
    ...(token !== null && { authorization: `Bearer ${token}` }),
    ...(operatorToken !== null && { 'perdure-operator': `Bearer ${operatorToken}` }),
  }
  return answerOf(await fetch(sessionUrl, { headers }))
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
