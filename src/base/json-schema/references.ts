import type { Json, JsonObject } from '../json.ts'
import { isObject, isSchema, MalformedSchema, type Schema } from './read-keyword.ts'
import { type StepBudget, stepsOfText } from './step-budget.ts'

/** A schema with its own address: the root, and each subschema with an `$id`. References are relative to it. */
export type Resource = { readonly address: string; readonly root: Schema }

/** A schema and the resource that contains it. */
export type Located = { readonly schema: Schema; readonly resource: Resource }

const stepsPerAddress = 100
const unnamed = 'schema:///'
const notSchemas = new Set(['enum', 'const', 'default', 'examples', 'required', 'type'])

/** Resolves `$ref` within one schema. Never loads anything. */
export class References {
  readonly #whole: Resource
  readonly #steps: StepBudget
  /** By address, and by address with anchor. Built when the first reference needs it. */
  #index: Map<string, Located> | null = null

  constructor(whole: Schema, steps: StepBudget) {
    this.#steps = steps
    this.#whole = resourceAt(whole, { address: unnamed, root: whole })
  }

  get whole(): Located {
    return { schema: this.#whole.root, resource: this.#whole }
  }

  /** Null when the reference resolves to nothing. */
  find(reference: string, from: Resource): Located | null {
    this.#steps.take(20 + stepsOfText(reference))
    const hash = reference.indexOf('#')
    const address = hash === -1 ? reference : reference.slice(0, hash)
    const fragment = decoded(hash === -1 ? '' : reference.slice(hash + 1))
    if (address !== '') this.#steps.take(stepsPerAddress)
    const resource = address === '' ? from : this.#indexed(resolved(address, from))?.resource
    if (!resource || fragment === null) return null
    if (fragment === '' || fragment.startsWith('/')) return this.#pointed(fragment.split('/').slice(1), resource)
    return this.#indexed(`${resource.address}#${fragment}`)
  }

  #pointed(tokens: readonly string[], from: Resource): Located | null {
    let resource = from
    let found: Json = from.root
    for (const token of tokens) {
      this.#steps.take(1)
      const key = token.replaceAll('~1', '/').replaceAll('~0', '~')
      if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return null
      found = (found as JsonObject)[key]!
      resource = resourceAt(found, resource)
    }
    return isSchema(found) ? { schema: found, resource } : null
  }

  #indexed(name: string): Located | null {
    this.#index ??= this.#indexAll()
    return this.#index.get(name) ?? null
  }

  #indexAll(): Map<string, Located> {
    const index = new Map<string, Located>()
    const waiting: { value: Json; resource: Resource }[] = [{ value: this.#whole.root, resource: this.#whole }]
    const seen = new Set<Json>()
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const { value } = next
      this.#steps.take(isObject(value) && idOf(value) !== null ? stepsPerAddress : 4)
      if (typeof value !== 'object' || value === null || seen.has(value)) continue
      seen.add(value)
      const resource = resourceAt(value, next.resource)
      if (isObject(value)) {
        const located = { schema: value, resource }
        if (resource.root === value) index.set(resource.address, located)
        for (const anchor of anchorsOf(value)) index.set(`${resource.address}#${anchor}`, located)
      }
      for (const [key, member] of Object.entries(value)) {
        if (!notSchemas.has(key)) waiting.push({ value: member, resource })
      }
    }
    return index
  }
}

/** The resource that contains a value: its own if the value has an `$id`. */
export function resourceAt(value: Json, around: Resource): Resource {
  const id = isObject(value) ? idOf(value) : null
  if (id === null || id.startsWith('#')) return around
  const address = resolved(id, around).replace(/#$/, '')
  return { address, root: value as Schema }
}

/** Draft 4 called it `id`. */
function idOf(schema: JsonObject): string | null {
  const id = schema['$id'] ?? schema['id']
  return typeof id === 'string' && id !== '' ? id : null
}

/** Draft 7 wrote an anchor as an `$id`. */
function anchorsOf(schema: JsonObject): string[] {
  const { $anchor } = schema
  const id = idOf(schema)
  return [...(typeof $anchor === 'string' ? [$anchor] : []), ...(id?.startsWith('#') ? [id.slice(1)] : [])]
}

function resolved(reference: string, { address }: Resource): string {
  try {
    return new URL(reference, address).href
  } catch {
    throw new MalformedSchema(`'${reference.slice(0, 60)}' is not the address of a schema`)
  }
}

function decoded(fragment: string): string | null {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return null
  }
}
