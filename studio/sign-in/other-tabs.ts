import { studioPath } from '../addresses.ts'
import type { Tokens } from './session.ts'

type Message = { readonly type: 'ask' } | { readonly type: 'session'; readonly tokens: Tokens }

const waitMs = 150
const channel = new BroadcastChannel(`perdure-session ${studioPath}`)

/** A page that opens in a new tab takes over the session of another tab: what a tab stores is its own. Resolves soon, or when `isDone`. */
export async function askOtherTabs(isDone: () => boolean): Promise<void> {
  channel.postMessage({ type: 'ask' } satisfies Message)
  const until = performance.now() + waitMs
  while (!isDone() && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10))
}

/** Gives a new session to the tabs that wait at their sign-in. */
export function tellOtherTabs(tokens: Tokens): void {
  channel.postMessage({ type: 'session', tokens } satisfies Message)
}

/** Answers other tabs while this one is signed in, and hears of their sessions. Tabs of other origins are never heard. */
export function hearOtherTabs({
  current,
  onSession,
}: {
  current(): Tokens | null
  onSession(tokens: Tokens): void
}): void {
  channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
    if (data.type === 'session') return onSession(data.tokens)
    const tokens = current()
    if (tokens) tellOtherTabs(tokens)
  })
}
