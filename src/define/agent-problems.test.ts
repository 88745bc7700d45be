import { expect, test } from 'vitest'
import { z } from 'zod'
import { scriptedModel } from '../testing/scripted-model.ts'
import { preHook } from './create-hook.ts'
import { agentProblems } from './define-agent.ts'
import { defineTool } from './define-tool.ts'

const model = scriptedModel([])
const find = defineTool({ name: 'find', description: 'Find', input: z.object({}), run: () => 1 })
const guard = preHook('guard', () => undefined)
const problems = (attributes: object) => agentProblems({ name: 'support', model, ...attributes } as never)

test('what an agent may have is no problem', () => {
  const attributes = [
    { instructions: 'Be kind.', transformChunk: () => {}, output: z.object({}), audit: 'full', reveal: 'judged' },
    {
      fallbackModels: [model],
      settings: { temperature: 1, toolChoice: { type: 'tool', toolName: 'find' } },
      tools: [find],
    },
    { title: true },
    { title: { model, instructions: 'Short.' } },
    { tools: [find], untilTool: 'find', hooks: [guard], retry: false },
    { retry: { maxAttempts: 1, baseMs: 0, maxMs: 0 } },
    { timeouts: { firstChunkMs: 1, betweenChunksMs: 1, totalMs: 1 } },
    { timeouts: {} },
    {
      context: {
        workingBudget: 1,
        ceiling: 1,
        injectionReserve: 0,
        windowTurns: 1,
        tokenizer: () => 1,
        summarise: false,
      },
    },
    { context: { summarise: { model, instructions: 'Short.' } } },
  ]
  for (const one of attributes) expect([one, problems(one)]).toEqual([one, []])
})

test.each<[object, string]>([
  [{ name: '' }, 'name'],
  [{ instructions: 7 }, "'instructions' must be a string or a function of the turn"],
  [{ transformChunk: 'x' }, "'transformChunk' must be a function of a chunk"],
  [{ output: 7 }, "'output' must be a Standard Schema or a JSON Schema"],
  [{ audit: 'some' }, "'audit' must be one of off, records, full, not some"],
  [{ reveal: 'late' }, "'reveal' must be one of live, judged, not late"],
  [{ model: 'gpt' }, "'model' must be an AI SDK language model"],
  [{ fallbackModels: model }, "'fallbackModels' must be a list"],
  [{ fallbackModels: [model, 'gpt'] }, "each of 'fallbackModels' must be an AI SDK language model"],
  [{ settings: { heat: 1 } }, "'settings': unknown key 'heat'"],
  [{ settings: { providerOptions: 'fast' } }, "'settings': 'providerOptions' must be an object"],
  [{ settings: { maxOutputTokens: 0 } }, "'settings': 'maxOutputTokens' must be a whole number of at least 1"],
  [{ settings: { temperature: Number.NaN } }, "'settings': 'temperature' must be a number"],
  [{ title: { model: 'gpt' } }, "'title.model' must be an AI SDK language model"],
  [{ title: { length: 5 } }, "'title': unknown key 'length'"],
  [{ tools: { find } }, "'tools' must be a list; for AI SDK tools use fromAiSdkTools(...)"],
  [{ tools: [find, {}] }, 'tools[1] was not made by defineTool or fromAiSdkTools'],
  [{ tools: [find, find] }, "there are several tools named 'find'"],
  [{ tools: [find], untilTool: 'seek' }, "'untilTool' names no tool of this agent: seek (available: find)"],
  [{ untilTool: 'seek' }, "'untilTool' names no tool of this agent: seek (it has no tools)"],
  [
    { settings: { toolChoice: { toolName: 'seek' } } },
    "'settings.toolChoice' names no tool of this agent: seek (it has no tools)",
  ],
  [{ hooks: guard }, "'hooks' must be a list"],
  [{ hooks: [guard, null] }, 'hooks[1]'],
  [{ hooks: [guard, guard] }, "there are several hooks named 'guard'"],
  [{ retry: { maxAttempts: 0 } }, "'retry': 'maxAttempts' must be a whole number of at least 1, not 0"],
  [{ retry: { baseMs: 1.5 } }, "'retry': 'baseMs' must be a whole number of at least 0, not 1.5"],
  [{ retry: { tries: 1 } }, "'retry': unknown key 'tries'"],
  [{ timeouts: { firstChunkMs: 0 } }, "'timeouts': 'firstChunkMs' must be a whole number of at least 1, not 0"],
  [{ timeouts: { totalMs: Number.NaN } }, "'timeouts': 'totalMs' must be a whole number of at least 1, not NaN"],
  [{ timeouts: { chunkMs: 5 } }, "'timeouts': unknown key 'chunkMs'"],
  [{ timeouts: false }, "'timeouts': it must be an object"],
  [{ context: { windowTurns: 0 } }, "'context': 'windowTurns' must be a whole number of at least 1, not 0"],
  [{ context: { tokenizer: 'gpt' } }, "'context': 'tokenizer' must be a function of text"],
  [{ context: { size: 1 } }, "'context': unknown key 'size'"],
  [{ context: { summarise: { model: 'gpt' } } }, "'context': 'summarise.model' must be an AI SDK language model"],
  [{ context: { summarise: { words: 5 } } }, "'context': unknown key 'words'"],
  [{ context: { retention: 'for ever' } }, "'context': "],
  [{ maxSteps: 0 }, "'maxSteps' must be a whole number of at least"],
  [{ hookTimeoutMs: 0 }, "'hookTimeoutMs' must be a whole number of at least 1, not 0"],
  [{ model: undefined, nonsense: 1 }, "unknown key 'nonsense'"],
])('%o is one problem that is told', (attributes, problem) => {
  expect(problems(attributes).filter((one) => one.includes(problem))).toHaveLength(1)
})

test('everything that is wrong is told, in the order of what an agent has', () => {
  const wrong = {
    ...{ nonsense: 1, name: '', instructions: 7, transformChunk: 7, output: 7, audit: 'x', reveal: 'x' },
    ...{ model: 'gpt', fallbackModels: 7, title: { model: 'gpt' }, tools: [{}, find, find], untilTool: 'seek' },
    ...{
      settings: { heat: 1, toolChoice: { toolName: 'seek' } },
      hooks: [null, guard, guard],
      maxSteps: 0,
      maxTokens: 0,
    },
    ...{
      retry: { tries: 1, baseMs: -1 },
      context: { size: 1, ceiling: 0, retention: 7, tokenizer: 7, summarise: { words: 1, model: 'x' } },
    },
  }
  const told = agentProblems(wrong).map((problem) => problem.replaceAll(/ \(known: [^)]*\)/g, ''))
  expect(
    told.map((problem) => /^('context': |'retry': |'settings': )?\S+ ?\S*/.exec(problem)![0]),
  ).toMatchInlineSnapshot(`
    [
      "unknown key",
      "The name",
      "'instructions' must",
      "'transformChunk' must",
      "'output' must",
      "'audit' must",
      "'reveal' must",
      "'settings': unknown key",
      "'model' must",
      "'fallbackModels' must",
      "'title.model' must",
      "tools[0] was",
      "there are",
      "'untilTool' names",
      "'settings.toolChoice' names",
      "hooks[0]: The",
      "there are",
      "'maxSteps' must",
      "'maxTokens' must",
      "'retry': unknown key",
      "'retry': 'baseMs' must",
      "'context': unknown key",
      "'context': 'ceiling' must",
      "'context': 'retention' must",
      "'context': 'tokenizer' must",
      "'context': unknown key",
      "'context': 'summarise.model' must",
    ]
  `)
})

test('what is no object is one problem', () => {
  for (const given of [null, undefined, 'support']) expect(agentProblems(given)).toEqual(['it must be an object'])
})
