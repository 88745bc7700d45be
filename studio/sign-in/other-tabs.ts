import { studioPath } from '../addresses.ts'
import type { Tokens } from './session.ts'

type Message = { readonly type: 'ask' } | { readonly type: 'session'; readonly tokens: Tokens }

const waitMs = 150
const channel = new BroadcastChannel(`perdure-session ${studioPath}`)

/** A page that opens in a new tab takes over the session of another tab: what a tab stores is its own. */
export function askOtherTabs(): Promise<Tokens | null> {
  return new Promise((resolve) => {
    const end = (tokens: Tokens | null): void => {
      clearTimeout(timer)
      channel.removeEventListener('message', listen)
      resolve(tokens)
    }
    const listen = ({ data }: MessageEvent<Message>): void => {
      if (data.type === 'session') end(data.tokens)
    }
    const timer = setTimeout(end, waitMs, null)
    channel.addEventListener('message', listen)
    channel.postMessage({ type: 'ask' } satisfies Message)
  })
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
