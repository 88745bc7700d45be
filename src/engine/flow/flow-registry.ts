import { DefinitionError } from '../../base/errors/definition-errors.ts'
import { DeterminismError, NoSuchFlowError } from '../../base/errors/flow-errors.ts'
import { readOptions } from '../../base/errors/read-options.ts'
import { InvalidArgumentError } from '../../base/errors/store-errors.ts'
import type { Json } from '../../base/json.ts'
import { type Flow, sessionAgent } from '../../define/define-flow.ts'
import { normaliseValue } from '../../define/normalise-result.ts'
import { validate } from '../../define/validate.ts'

/** `version` null: the newest. */
export type FlowName = { readonly name: string; readonly version: string | null }

/** The flows of a runtime, by name and version. Of each name, the one given last is the newest. */
export class FlowRegistry {
  readonly #byName = new Map<string, Flow[]>()

  constructor(flows: readonly Flow[]) {
    for (const flow of flows) {
      const versions = this.#byName.get(flow.name) ?? []
      if (versions.some(({ version }) => version === flow.version)) {
        throw new DefinitionError('The runtime', [`it has two flows '${flow.name}' of version '${flow.version}'`])
      }
      this.#byName.set(flow.name, [...versions, flow])
    }
  }

  /** Names as sessions have them in the store. */
  sessionAgents(): string[] {
    return [...this.#byName.keys()].map(sessionAgent)
  }

  has(name: string): boolean {
    return this.#byName.has(name)
  }

  /** Each flow with its versions, the newest last. */
  list(): { readonly name: string; readonly versions: readonly string[] }[] {
    return [...this.#byName].map(([name, flows]) => ({ name, versions: flows.map(({ version }) => version) }))
  }

  /** The registered one of that name and version; of a bare name, the newest. */
  find(flow: string | FlowName): Flow {
    const { name, version } = typeof flow === 'string' ? { name: flow, version: null } : flow
    const versions = this.#versionsOf(name)
    const found = version === null ? versions.at(-1) : versions.find((known) => known.version === version)
    if (!found) throw new NoSuchFlowError(`${name}' of version '${version}`, this.#names())
    return found
  }

  /** The code for a record: of its own version, else the newest that can replay it. Throws `DeterminismError` when none can. */
  replaying(id: string, { flow, version }: { readonly flow: string; readonly version: string }): Flow {
    const versions = this.#versionsOf(flow)
    const found =
      versions.find((known) => known.version === version) ?? versions.findLast((known) => known.replays(version))
    if (found) return found
    throw new DeterminismError(id, 0, { version }, { version: versions.map((known) => known.version).join(', ') })
  }

  #versionsOf(name: string): readonly Flow[] {
    const versions = this.#byName.get(name)
    if (!versions) throw new NoSuchFlowError(name, this.#names())
    return versions
  }

  #names(): string[] {
    return [...this.#byName.values()].flat().map(({ name, version }) => `${name} ${version}`)
  }
}

/** What a caller names a flow by: itself, or its name, which stands for its newest version. It need not be registered. */
export function flowNamed(flow: string | Pick<Flow, 'name' | 'version'>): FlowName {
  if (typeof flow === 'string') return { name: flow, version: null }
  const { name, version } = readOptions('flow', flow, ['name', 'version'])
  if (typeof name === 'string' && typeof version === 'string') return { name, version }
  throw new InvalidArgumentError('flow', 'must be a flow or the name of one')
}

/** The input as it is recorded: what the flow's schema makes of it. Throws `InvalidArgumentError`. */
export async function checkFlowInput(flow: Flow, input: unknown): Promise<Json> {
  const given = recorded(input)
  if (!flow.input) return given
  const checked = await validate(flow.input, given)
  if (!checked.ok) throw new InvalidArgumentError('input', `does not fit the flow '${flow.name}': ${checked.issues}`)
  return recorded(checked.value)
}

function recorded(value: unknown): Json {
  const normalised = normaliseValue(value)
  if (!normalised.ok) throw new InvalidArgumentError('input', `cannot be recorded: ${normalised.problem}`)
  return normalised.value
}
