import { defineSubscriber, type SubscriberEvent, type WaitingCall } from '../../src/define/define-subscriber.ts'
import { createScope } from '../../src/define/scope.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { createHandler } from '../../src/server/create-handler.ts'

/** A subscriber that keeps what it is told waits. */
export function waitingSubscriber() {
  const calls: WaitingCall[] = []
  const run = ({ call }: SubscriberEvent) => void (call && calls.push(call))
  return { calls, subscriber: defineSubscriber({ name: 'waiting', on: ['waiting'], run }) }
}

type Part = { readonly type: string; readonly data?: object }

/** The questions that a page of `useChat` shows, and what the inbox tells over HTTP. */
export async function toldOverHttp(runtime: object, agent: string, id: string) {
  const handler = createHandler(runtime as Runtime, { authenticate: () => createScope({ user: 'ann' }) as never })
  const get = async (path: string) => (await handler(new Request(`http://localhost${path}`))).json()
  const { messages } = (await get(`/ui/${agent}/${id}/messages`)) as { messages: { parts: Part[] }[] }
  const questions = messages.flatMap(({ parts }) => parts.filter(({ type }) => type === 'data-question'))
  const { items } = (await get('/inbox')) as { items: object[] }
  return { questions: questions.map(({ data }) => data), items }
}
