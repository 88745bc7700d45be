import type { Json } from '../../src/base/json.ts'
import type { FlowVerbs } from '../../src/define/flow-verbs.ts'
import type { SeededRandom } from '../faults/harness/seeded-random.ts'

/** A flow as data, so that many can be made up and changed. */
export type Program =
  | {
      readonly type: 'step'
      readonly name: string
      readonly input: Json
      readonly fails: boolean
      readonly turns: number
    }
  | { readonly type: 'suspend' | 'request'; readonly name: string }
  | { readonly type: 'now' | 'random' | 'uuid' | 'sleep' }
  | { readonly type: 'sequence' | 'all' | 'race'; readonly parts: readonly Program[] }
  | { readonly type: 'catching'; readonly part: Program }
  /** Goes one way or the other by what was recorded. */
  | { readonly type: 'choice'; readonly parts: readonly Program[] }

/** Made-up programs ask for a few operations each; names are their own, so that every place can be told from every other. */
export function randomProgram(random: SeededRandom, depth = 3, counter = { n: 0 }): Program {
  const leaf = depth === 0 || random.chance(0.35)
  if (leaf) return randomLeaf(random, counter)
  const type = random.pick(['sequence', 'sequence', 'all', 'race', 'catching', 'choice'] as const)
  const part = () => randomProgram(random, depth - 1, counter)
  if (type === 'catching') return { type, part: part() }
  return { type, parts: Array.from({ length: random.int(2, 3) }, part) }
}

function randomLeaf(random: SeededRandom, counter: { n: number }): Program {
  counter.n += 1
  const name = `op-${counter.n}`
  const type = random.pick([
    'step',
    'step',
    'step',
    'suspend',
    'suspend',
    'request',
    'now',
    'random',
    'uuid',
    'sleep',
  ] as const)
  if (type === 'step') return { type, name, input: counter.n, fails: random.chance(0.2), turns: random.int(0, 3) }
  return type === 'suspend' || type === 'request' ? { type, name } : { type }
}

/** Runs it as a flow's code would. What it returns depends on everything that came back. */
export async function runProgram(flow: FlowVerbs, program: Program): Promise<Json> {
  switch (program.type) {
    case 'step':
      return flow.step(program.name, { input: program.input }, async () => {
        for (let turn = 0; turn < program.turns; turn++) await new Promise((resolve) => setImmediate(resolve))
        if (program.fails) throw new Error(`${program.name} fails`)
        return `${program.name} done`
      })
    case 'suspend':
      return flow.suspend(program.name)
    case 'request':
      return flow.request(program.name, { of: program.name })
    case 'now':
    case 'random':
    case 'uuid':
      return flow[program.type]()
    case 'sleep':
      await flow.sleep(0)
      return null
    case 'sequence': {
      const results: Json[] = []
      for (const part of program.parts) results.push(await runProgram(flow, part))
      return results
    }
    case 'all':
      return Promise.all(program.parts.map((part) => runProgram(flow, part)))
    case 'race':
      return Promise.race(program.parts.map((part) => runProgram(flow, part)))
    case 'catching':
      return runProgram(flow, program.part).catch((error: Error) => ({ caught: error.message }))
    case 'choice':
      return runProgram(flow, program.parts[(await flow.random()) < 0.5 ? 0 : 1]!)
  }
}

/** The names of all operations that have one. */
export function namesIn(program: Program): string[] {
  if ('name' in program) return [program.name]
  if ('part' in program) return namesIn(program.part)
  return 'parts' in program ? program.parts.flatMap(namesIn) : []
}

/** The same program with one operation under another name. */
export function renamed(program: Program, name: string): Program {
  if ('name' in program) return program.name === name ? { ...program, name: `${name} changed` } : program
  if ('part' in program) return { ...program, part: renamed(program.part, name) }
  return 'parts' in program ? { ...program, parts: program.parts.map((part) => renamed(part, name)) } : program
}

/** The same program with another operation before the one of that name. */
export function preceded(program: Program, name: string): Program {
  const added: Program = { type: 'step', name: 'added', input: null, fails: false, turns: 0 }
  if ('name' in program) return program.name === name ? { type: 'sequence', parts: [added, program] } : program
  if ('part' in program) return { ...program, part: preceded(program.part, name) }
  return 'parts' in program ? { ...program, parts: program.parts.map((part) => preceded(part, name)) } : program
}

/** The same program without the operation of that name. */
export function without(program: Program, name: string): Program {
  const nothing: Program = { type: 'sequence', parts: [] }
  if ('name' in program) return program.name === name ? nothing : program
  if ('part' in program) return { ...program, part: without(program.part, name) }
  return 'parts' in program ? { ...program, parts: program.parts.map((part) => without(part, name)) } : program
}
