import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Turn } from '../../src/define/turn.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { projectView, type WatchEvent } from '../../src/view/growing-view.ts'
import type { View } from '../../src/view/view.ts'
import { gate } from './gate.ts'
import { overStores } from './over-stores.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 20_000 })

/** A tool whose turn the story gets hold of. */
function uploader() {
  const started = gate<Turn>()
  const finish = gate()
  const upload = defineTool({
    name: 'upload',
    description: 'Upload',
    input: z.object({}),
    run: (_, turn) => {
      started.open(turn)
      return finish.opened
    },
  })
  const model = scriptedModel([{ calls: [{ tool: 'upload', args: {} }] }, 'Done.'])
  return { agent: defineAgent({ name: 'uploader', model, tools: [upload] }), started, finish }
}

overStores('the progress of a tool', (story) => {
  test('reaches those who watch, is in the view while the tool runs, and is not in the log', async () => {
    const { agent, started, finish } = uploader()
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'uploader' })
    const seen: WatchEvent[] = []
    const shown: View[] = []
    const leave = new AbortController()
    const watching = (async () => {
      for await (const event of chat.watch({ signal: leave.signal })) {
        seen.push(event)
        const last = shown.at(-1)
        shown.push(last ? projectView(last, event) : (event as Extract<WatchEvent, { type: 'snapshot' }>).view)
      }
    })()
    const turn = await chat.send('upload')
    const { callId, reportProgress } = await started.opened
    reportProgress({ percent: 50 })
    reportProgress({ percent: 100 })
    await until(() => seen.filter((event) => event.type === 'tool_progress').length === 2)
    expect(shown.at(-1)?.progress).toEqual({ [callId!]: { percent: 100 } })
    expect((await chat.view()).progress).toEqual({ [callId!]: { percent: 100 } })
    finish.open()
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    reportProgress('too late')
    await until(() => shown.at(-1)?.phase === 'idle')
    leave.abort()
    await watching
    expect(seen.filter((event) => event.type === 'tool_progress')).toMatchObject([
      { callId, payload: { percent: 50 } },
      { callId, payload: { percent: 100 } },
    ])
    expect(shown.at(-1)?.progress).toEqual({})
    expect(JSON.stringify(await chat.events())).not.toContain('percent')
  })

  test('that cannot be shown does not disturb the tool', async () => {
    const { agent, started, finish } = uploader()
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'uploader' })
    const turn = await chat.send('upload')
    const { reportProgress } = await started.opened
    for (const payload of [undefined, 1n, () => 1, Symbol('x'), { toJSON: () => Promise.reject }])
      reportProgress(payload)
    finish.open()
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
  })
})
