import { expect, test } from 'vitest'
import { defineFlow } from '../../src/define/define-flow.ts'
import { overStores } from './over-stores.ts'

const v1 = defineFlow({
  name: 'onboarding',
  version: 1,
  run: async (flow, input) => {
    await flow.suspend('accept terms')
    if (input === 'restart') return flow.continueAs('moved')
    return 'by version 1'
  },
})

const v2 = (compatible?: readonly (string | number)[] | { from: number }) =>
  defineFlow({
    name: 'onboarding',
    version: 2,
    ...(compatible ? { compatible } : {}),
    run: async (flow, input) => {
      if (input === 'moved') return flow.suspend<string>('confirm address')
      await flow.suspend('accept terms')
      return 'by version 2'
    },
  })

overStores('versions of a flow', (story) => {
  test('a record of another version is refused before anything is written', async () => {
    const store = story.openStore()
    const first = story.start({ agents: [], flows: [v1], store })
    await first.flow(v1, 's1').start(null)
    await first.close()
    const newer = v2()
    const second = story.start({ agents: [], flows: [newer], store: story.reopen(store) })
    const session = second.flow(newer, 's1')
    const before = await session.events()
    await expect(session.resume(true)).rejects.toMatchObject({
      code: 'flow_diverged',
      position: 0,
      recorded: { version: '1' },
      actual: { version: '2' },
    })
    expect(await session.events()).toEqual(before)
    expect(await session.status()).toBe('waiting')
  })

  test.each([
    ['a list', [1]],
    ['a range', { from: 1 }],
  ])('a version that declares %s of compatible ones goes on with their records', async (_, compatible) => {
    const store = story.openStore()
    const first = story.start({ agents: [], flows: [v1], store })
    await first.flow(v1, 's1').start(null)
    await first.close()
    const newer = v2(compatible)
    const second = story.start({ agents: [], flows: [newer], store: story.reopen(store) })
    expect(await second.flow(newer, 's1').resume(true)).toEqual({ status: 'done', result: 'by version 2' })
    expect(await second.flow(newer, 's1').record()).toMatchObject({ version: '1' })
  })

  test('a range does not reach below where it begins', async () => {
    const store = story.openStore()
    const first = story.start({ agents: [], flows: [v1], store })
    await first.flow(v1, 's1').start(null)
    await first.close()
    const newer = v2({ from: 2 })
    const second = story.start({ agents: [], flows: [newer], store: story.reopen(store) })
    await expect(second.flow(newer, 's1').resume(true)).rejects.toMatchObject({ code: 'flow_diverged' })
  })

  test('several versions run side by side, each session with the one it was started with', async () => {
    const newer = v2()
    const runtime = story.start({ agents: [], flows: [v1, newer] })
    await runtime.flow(v1, 'old').start(null)
    await runtime.flow(newer, 'new').start(null)
    expect(await runtime.flow('onboarding', 'old').resume(true)).toMatchObject({ result: 'by version 1' })
    expect(await runtime.flow('onboarding', 'new').resume(true)).toMatchObject({ result: 'by version 2' })
  })

  test('continueAs goes on in the newest version', async () => {
    const newer = v2()
    const runtime = story.start({ agents: [], flows: [v1, newer] })
    const session = runtime.flow(v1, 's1')
    await session.start('restart')
    expect(await session.resume(true)).toEqual({ status: 'waiting', tag: 'confirm address' })
    expect(await session.record()).toEqual({ flow: 'onboarding', version: '2', input: 'moved', outcomes: [] })
    expect(await session.resume('Elm Street')).toEqual({ status: 'done', result: 'Elm Street' })
  })

  test('the same name and version twice is refused', () => {
    expect(() => story.start({ agents: [], flows: [v1, v1] })).toThrow(
      expect.objectContaining({ code: 'invalid_definition' }),
    )
  })
})
