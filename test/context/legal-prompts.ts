import { parseArgs } from 'node:util'
import { seededRandom } from '../faults/harness/seeded-random.ts'
import { checkPrompts } from './check-prompts.ts'
import { featuresOf } from './features.ts'
import { generateLog } from './log-generator.ts'

export type LegalPrompts = {
  readonly program: 'legal-prompts'
  readonly seed: number
  readonly ok: boolean
  readonly logs: number
  /** Each is a prefix of a log, rendered for each provider in several ways. */
  readonly prefixes: number
  readonly prompts: number
  /** In how many of the logs each thing happened, as a share. */
  readonly shares: { readonly [feature: string]: number }
  readonly tooRare: readonly string[]
  readonly problems: readonly string[]
  readonly seconds: number
}

const leastShare = 0.05
const shownProblems = 10

/** Every prefix of so many generated logs, rendered for OpenAI, Anthropic and Google. */
export function legalPrompts(logs: number, seed: number): LegalPrompts {
  const begun = performance.now()
  const counts = new Map<string, number>()
  const problems: string[] = []
  let prefixes = 0
  let prompts = 0
  for (let n = 0; n < logs; n++) {
    const random = seededRandom(seed * 1_000_003 + n)
    const generated = generateLog(random)
    const checked = checkPrompts(generated, random)
    prefixes += generated.log.length + 1
    prompts += checked.prompts
    problems.push(...checked.problems.map((problem) => `log ${n}: ${problem}`))
    const reduced = [...checked.reductions].map((kind) => `reduced by ${kind}`)
    if (checked.shaped.sent > 0) reduced.push('shaped by a hook')
    if (checked.shaped.refused > 0) reduced.push('shaped and refused')
    for (const feature of [...featuresOf(generated), ...reduced]) counts.set(feature, (counts.get(feature) ?? 0) + 1)
  }
  const shares = Object.fromEntries([...counts].toSorted().map(([name, count]) => [name, round(count / logs)]))
  const tooRare = features.filter((name) => (shares[name] ?? 0) < leastShare)
  return {
    program: 'legal-prompts',
    seed,
    ok: problems.length === 0 && tooRare.length === 0,
    logs,
    prefixes,
    prompts,
    shares,
    tooRare,
    problems: problems.slice(0, shownProblems),
    seconds: Math.round((performance.now() - begun) / 100) / 10,
  }
}

const features = [
  ...[
    'crash',
    'fork',
    'restored',
    'cancel',
    'cancelled message',
    'failed message',
    'parallel calls',
    'denied',
    'expired',
    'edited',
  ],
  ...['interrupted call', 'open call', 'hosted call', 'reasoning', 'several providers', 'steering', 'regeneration'],
  ...[
    'withheld',
    'injection',
    'note',
    'moved deadline',
    'file',
    'empty text',
    'odd name or id',
    'repeated id',
    'half a pair',
  ],
  ...['replaced', 'replaced after calls'],
  ...['reduced by summary', 'reduced by window', 'reduced by stubs'],
  ...['shaped by a hook', 'shaped and refused'],
]

function round(share: number): number {
  return Math.round(share * 1_000) / 1_000
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { logs: { type: 'string' }, seed: { type: 'string' } } })
  const result = legalPrompts(Number(values.logs ?? 10_000), Number(values.seed ?? 1))
  process.stdout.write(`${JSON.stringify(result)}\n`)
  process.exitCode = result.ok ? 0 : 1
}
