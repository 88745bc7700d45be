import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { LanguageModel } from '../../src/define/language-model.ts'
import { type Step, scriptedModel } from '../../src/testing/scripted-model.ts'
import { pacedModel } from '../stories/paced-model.ts'
import { until } from '../stories/until.ts'
import { startServer } from './start-server.ts'
import type { Sdk } from './ui-assemble.ts'
import { cancel, endedMessagesOf, messagesOf } from './ui-chat.ts'
import { openPage } from './ui-page.ts'

const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back',
  input: z.object({ cents: z.number().int() }),
  approval: 'required',
  run: ({ cents }) => ({ paid: cents }),
})

const locate = defineTool({
  name: 'locate',
  description: 'Where the person is',
  executor: 'client',
  input: z.object({}),
  output: z.object({ city: z.string() }),
})

async function start(model: LanguageModel) {
  const started = await startServer({
    agents: [defineAgent({ name: 'helper', model, tools: [refund, locate], retry: false })],
  })
  return { ...started, api: `${started.server.url}/ui/helper` }
}

function callThen(tool: string, args: object) {
  return scriptedModel(({ n }): Step => (n === 1 ? { calls: [{ tool, args }] } : 'Done.'))
}

describe.each(['v6', 'v7'] as Sdk[])('useChat of ai %s', (sdk) => {
  test('shows text and reasoning', async () => {
    const { api } = await start(scriptedModel({ reasoning: 'Hm.', text: ['Hel', 'lo.'] }))
    const page = await openPage(sdk, { api })
    await page.say('Hi')
    await until(() => page.text().includes('Hi(Hm.)Hello.[ready]'))
    await page.close()
  })

  test.each([
    ['Approve', 'tool-refund output-available {"paid":5}'],
    ['Deny', 'tool-refund output-denied {"cents":5}'],
  ])('%s is a button', async (label, shown) => {
    const { api } = await start(callThen('refund', { cents: 5 }))
    const page = await openPage(sdk, { api })
    await page.say('Pay')
    await until(() => page.text().includes('approval-requested {"cents":5}') && page.text().includes('[ready]'))
    await page.click(label)
    await until(() => page.text().includes(`${shown}Done.[ready]`))
    await page.close()
  })

  test('runs a client tool in the page', async () => {
    const { api } = await start(callThen('locate', {}))
    const page = await openPage(sdk, { api, onToolCall: (name) => (name === 'locate' ? { city: 'Rome' } : undefined) })
    await page.say('Where?')
    await until(() => page.text().includes('tool-locate output-available {"city":"Rome"}Done.[ready]'))
    await page.close()
  })

  test('goes on in the middle of a message when the page was reloaded', async () => {
    const model = pacedModel()
    const { api, server } = await start(model)
    const page = await openPage(sdk, { api })
    await page.say('Tell')
    const call = await model.called(1)
    call.say('Once ')
    await until(() => page.text().includes('Once '))
    await page.close()
    await until(() => server.streams().clients === 0)
    const reloaded = await openPage(sdk, { api, messages: await endedMessagesOf(api), resume: true })
    await until(() => reloaded.text().includes('TellOnce [streaming]'))
    call.answer('upon a time.')
    await until(() => reloaded.text().includes('TellOnce upon a time.[ready]'))
    await reloaded.close()
  })

  test('a page that was reloaded while a call waits can approve it', async () => {
    const { api, runtime } = await start(callThen('refund', { cents: 5 }))
    await (await runtime.conversation('c', { agent: 'helper' }).send('Pay')).outcome()
    const page = await openPage(sdk, { api, messages: await endedMessagesOf(api), resume: true })
    await until(() => page.text().includes('approval-requested') && page.text().includes('[ready]'))
    await page.click('Approve')
    await until(() => page.text().includes('Paytool-refund output-available {"paid":5}Done.[ready]'))
    await page.close()
  })

  test('stops reading; the turn is ended by the cancel route, and shown as it was', async () => {
    const model = pacedModel()
    const { api, runtime } = await start(model)
    const page = await openPage(sdk, { api })
    await page.say('Tell')
    const call = await model.called(1)
    call.say('Once ')
    await until(() => page.text().includes('Once '))
    await page.click('Stop')
    await until(() => page.text().includes('[ready]'))
    expect((await runtime.conversation('c').view()).phase).toBe('running')
    await page.click('Resume')
    await until(() => page.text().includes('[streaming]'))
    await cancel(api)
    await until(() => page.text().includes('TellOnce [ready]'))
    expect((await messagesOf(api)).at(-1)?.metadata?.status).toBe('cancelled')
    await page.close()
  })

  test('shows an error', async () => {
    const { api } = await start(scriptedModel({ error: { status: 400 } }))
    const page = await openPage(sdk, { api })
    await page.say('Hi')
    await until(() => page.text().includes('[error]The turn failed (model_rejected). Send the message again.'))
    await page.close()
  })
})
