import { expect, test } from 'vitest'
import { agentProblems } from '../../define/define-agent.ts'
import { defineFlow } from '../../define/define-flow.ts'
import { createScope } from '../../define/scope.ts'
import { toolProblems } from '../../define/tool-problems.ts'
import { runtimeProblems } from '../../runtime/runtime-options.ts'

/** What each problem is about: the first name in it, after that of what it is in. */
const about = (problems: readonly string[]) =>
  problems.map((problem) => /'([\w.]+)'/.exec(problem.replace(/^'\w+': /, ''))?.[1] ?? problem.slice(0, 9))
const toldBy = (define: () => unknown): string => {
  try {
    define()
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

/** Problems are told in the order in which the documentation names the attributes. */
test('all that is wrong with an agent is told at once, in order', () => {
  const wrong = {
    ...{ wrong: 1, name: '', instructions: 7, transformChunk: 'x', output: 7, audit: 'some', reveal: 'late' },
    ...{ settings: { heat: 1, toolChoice: { toolName: 'seek' } }, model: 'gpt', fallbackModels: ['gpt'] },
    ...{ title: { length: 5, model: 'gpt' }, tools: [{}], untilTool: 'seek', hooks: [{ name: 'h' }, { name: 'h' }] },
    ...{ maxSteps: 0, maxTokens: 0, retry: { often: 1, maxAttempts: 0 } },
    context: { size: 1, ceiling: 0, retention: 7, tokenizer: 7, summarise: { how: 1, model: 'gpt' } },
  }
  expect(about(agentProblems(wrong))).toEqual([
    ...['wrong', 'The name ', 'instructions', 'transformChunk', 'output', 'audit', 'reveal'],
    ...['heat', 'model', 'fallbackModels', 'length', 'title.model', 'tools[0] ', 'untilTool', 'settings.toolChoice'],
    ...['h', 'h', 'h', 'maxSteps', 'maxTokens', 'often', 'maxAttempts'],
    ...['size', 'ceiling', 'retention', 'tokenizer', 'how', 'summarise.model'],
  ])
})

test('all that is wrong with a tool is told at once, in order', () => {
  const wrong = { name: 'a b', description: '', timeoutMs: 0, retention: 7, prompt: 7, strict: 7 }
  expect(about(toolProblems({ ...wrong, approval: 'no', ifInterrupted: 'no', expiresInMs: 0, wrong: 1 }))).toEqual([
    ...['wrong', 'name', 'description', 'input', 'run', 'approval', 'ifInterrupted'],
    ...['timeoutMs', 'expiresInMs', 'retention', 'prompt', 'strict'],
  ])
  expect(about(toolProblems({ ...wrong, executor: 'client', id: 7, args: 7 }))).toEqual([
    ...['timeoutMs', 'id', 'args', 'name', 'description', 'input', 'output', 'id', 'args'],
    ...['timeoutMs', 'retention', 'prompt', 'strict'],
  ])
  expect(about(toolProblems({ ...wrong, executor: 'agent', approval: 'no' }))).toEqual([
    ...['timeoutMs', 'name', 'description', 'input', 'agent', 'approval', 'timeoutMs', 'retention', 'prompt', 'strict'],
  ])
})

test('all that is wrong with a runtime is told at once, in order', () => {
  const wrong = { wrong: 1, agents: 7, store: {}, tenant: 7, who: 7, restoreScope: 7, redact: 7 }
  expect(about(runtimeProblems(wrong))).toEqual([
    ...['wrong', 'agents', 'store', 'tenant', 'who', 'restoreScope', 'redact'],
  ])
})

test('all that is wrong with a flow, and with a scope, is told at once, in order', () => {
  const flow = toldBy(() => defineFlow({ wrong: 1, name: '', version: '', compatible: 7, input: 7, run: 7 } as never))
  const parts = ['wrong', 'name', 'version', 'compatible', 'input', 'run'].map((name) => flow.indexOf(`'${name}' `))
  expect(parts).toEqual(parts.toSorted((left, right) => left - right))
  expect(parts.every((place) => place > 0)).toBe(true)
  const scope = toldBy(() => createScope({ wrong: 1, user: '', tenant: '', assigns: 7 } as never))
  const names = ['wrong', 'user', 'tenant', 'assigns'].map((name) => scope.indexOf(`'${name}' `))
  expect(names).toEqual(names.toSorted((left, right) => left - right))
  expect(names.every((place) => place > 0)).toBe(true)
})
