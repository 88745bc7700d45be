import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { expect, test } from 'vitest'
import { createClient } from '../client/create-client.ts'
import { PerdureProvider, useConnection, useConversation, useInbox, useModelCalls, useSession } from './index.ts'

const asked: string[] = []
const client = createClient({
  url: 'http://127.0.0.1:1',
  fetch: async (input) => {
    asked.push(String(input))
    throw new Error('no request is made on a server')
  },
})

function Page() {
  const chat = useConversation('c', { tools: { locate: () => null } })
  const inbox = useInbox()
  const statuses = [chat.status, inbox.status, useSession('f', 's').status, useModelCalls('c').status]
  return createElement('p', null, [...statuses, useConnection().status].join(' '))
}

test('a page renders on a server without a request', () => {
  const html = renderToString(createElement(PerdureProvider, { client }, createElement(Page)))
  expect(html).toBe('<p>loading loading loading loading connecting</p>')
  expect(asked).toEqual([])
})

test('a hook outside of a provider says what to do', () => {
  expect(() => renderToString(createElement(Page))).toThrow('Wrap the page in one')
})
