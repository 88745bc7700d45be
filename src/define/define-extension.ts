import { DefinitionError } from '../base/errors/definition-errors.ts'
import { unknownKeys } from '../base/errors/read-options.ts'
import type { JsonObject } from '../base/json.ts'
import { errorText } from '../base/redact/redactor.ts'
import { checkNewId } from '../store/checks.ts'
import { mergeChange, type StatePart } from './agent-state.ts'
import { createHook, type Hook, type HookAttributes } from './create-hook.ts'
import { isSchema, type Schema, type SchemaOutput } from './schema.ts'
import { initialProblems } from './state-problems.ts'
import { isTool, type Tool } from './tool.ts'
import { type AnyState, isTurn, type StateUpdate, type Turn, turnOf } from './turn.ts'

/** Instructions, tools, hooks and state that agents share. Frozen. Its parts see only its own part of the state. */
export type Extension<
  Name extends string = string,
  Tools extends readonly Tool[] = readonly Tool[],
  State = unknown,
> = {
  readonly name: Name
  readonly instructions: string | ((turn: Turn) => string)
  readonly tools: Tools
  readonly hooks: readonly Hook[]
  /** Null: it has no state. */
  readonly state: StatePart | null
  /** Whether views show its part of the state. */
  readonly expose: boolean
  /** For type inference only. Never set. */
  readonly '~types'?: { readonly state: State }
}

/** The attributes of `defineExtension`. */
export type ExtensionAttributes<
  Name extends string = string,
  Tools extends readonly Tool[] = readonly Tool[],
  State extends Schema | undefined = Schema | undefined,
> = {
  /** Also the key of its state. */
  readonly name: Name
  /** Appended to the agent's instructions. */
  readonly instructions?: string | ((turn: Turn<StateOf<State>>) => string)
  readonly tools?: Tools
  readonly hooks?: readonly (Hook | HookAttributes)[]
  /** The schema of its state, an object. */
  readonly state?: State
  /** Its state before it was set. Default: `{}`. */
  readonly initialState?: StateOf<State>
  /** Shows its state in views. Default: false. */
  readonly expose?: boolean
}

/** The state that a schema describes. */
export type StateOf<State extends Schema | undefined> = State extends Schema
  ? SchemaOutput<State> extends infer Output extends object
    ? Output
    : AnyState
  : AnyState

/**
 * Defines an extension: instructions, tools, hooks and state under one name, for the `extensions` of agents. In its
 * tools, hooks and instructions `turn.state` and `turn.setState` are about its own part of the state. Throws
 * `DefinitionError` with everything that is wrong.
 */
export function defineExtension<
  const Name extends string,
  const Tools extends readonly Tool[] = readonly [],
  State extends Schema | undefined = undefined,
>(
  attributes: ExtensionAttributes<Name, Tools, State>,
): Extension<Name, Tools, State extends Schema ? StateOf<State> : undefined>
export function defineExtension(attributes: ExtensionAttributes): Extension {
  const problems = extensionProblems(attributes)
  if (problems.length > 0) throw new DefinitionError(`The extension '${String(Object(attributes).name)}'`, problems)
  const { name, instructions = '', tools = [], hooks = [], state, initialState = {}, expose = false } = attributes
  const extension: Extension = {
    name,
    instructions: typeof instructions === 'function' ? (turn) => instructions(ofPart(turn, name)) : instructions,
    tools: Object.freeze(tools.map((tool) => toolOfPart(tool, name))),
    hooks: Object.freeze(hooks.map((hook) => hookOfPart(createHook(hook), name))),
    state: state ? Object.freeze({ schema: state, initial: initialState as JsonObject }) : null,
    expose,
  }
  return Object.freeze(Object.defineProperty(extension, brand, { value: true }))
}

const brand = Symbol.for('perdure.extension')

/** Whether a value was made by `defineExtension`. */
export function isExtension(value: unknown): value is Extension {
  return typeof value === 'object' && value !== null && brand in value
}

/** The turn as an extension sees it: with its own part of the state. */
function ofPart(turn: Turn, name: string): Turn {
  const partOf = (state: AnyState): AnyState => (Object.hasOwn(state, name) ? (state[name] as AnyState) : {})
  const setState = (update: StateUpdate): void => {
    turn.setState((state) => {
      const part = partOf(state)
      const change = typeof update === 'function' ? update(part) : update
      return { [name]: isPlain(change) ? mergeChange(part, change) : change }
    })
  }
  return turnOf({ ...turn, state: partOf(turn.state), setState })
}

function isPlain(change: unknown): change is AnyState {
  return typeof change === 'object' && change !== null && !Array.isArray(change) && !(change instanceof Promise)
}

function toolOfPart(tool: Tool, name: string): Tool {
  if (tool.executor === 'provider') return tool
  const prompt: typeof tool.prompt = (args, turn) => tool.prompt(args, ofPart(turn, name))
  if (tool.executor === 'human') return Object.freeze({ ...tool, prompt })
  const isGated: typeof tool.isGated = (args, turn) => tool.isGated(args, ofPart(turn, name))
  if (tool.executor !== 'server') return Object.freeze({ ...tool, prompt, isGated })
  return Object.freeze({
    ...tool,
    prompt,
    isGated,
    run: (args: unknown, turn: Turn) => tool.run(args, ofPart(turn, name)),
  })
}

function hookOfPart(hook: Hook, name: string): Hook {
  const run = async (turn: Turn): Promise<unknown> => {
    const returned: unknown = await hook.run(ofPart(turn, name))
    return isTurn(returned) ? turnOf({ ...returned, state: turn.state, setState: turn.setState }) : returned
  }
  return Object.freeze({ ...hook, run } as Hook)
}

/** The agent's own tools with those of its extensions. */
export type AllTools<
  Tools extends readonly Tool[],
  Extensions extends readonly Extension[],
> = Extensions extends readonly [] ? Tools : readonly (Tools[number] | Extensions[number]['tools'][number])[]

/** The agent's own state, with that of each extension under its name. */
export type FullState<
  State extends Schema | undefined,
  Extensions extends readonly Extension[],
> = Extensions extends readonly [] ? StateOf<State> : OwnState<State> & PartsOf<Extensions>

type OwnState<State extends Schema | undefined> = State extends Schema ? StateOf<State> : unknown

type PartsOf<Extensions extends readonly Extension[]> = {
  readonly [E in Extensions[number] as PartState<E> extends undefined ? never : E['name']]: PartState<E>
}

type PartState<E extends Extension> = NonNullable<E['~types']>['state']

type Instructions = Extension['instructions']

/** The agent's own, then those of its extensions in their order. */
export function allInstructions(own: Instructions = '', extensions: readonly Extension[]): Instructions {
  const all = [own, ...extensions.map((extension) => extension.instructions)].filter((text) => text !== '')
  if (all.length <= 1) return all[0] ?? ''
  if (all.every((text) => typeof text === 'string')) return all.join('\n\n')
  // Asynchronous, because the engine also awaits instructions that are.
  const joined = async (turn: Turn) => {
    const texts = await Promise.all(all.map((text) => (typeof text === 'function' ? text(turn) : text)))
    return texts.filter((text) => text !== '').join('\n\n')
  }
  return joined as unknown as (turn: Turn) => string
}

type Given = { readonly [key: string]: unknown }

function extensionProblems(attributes: unknown): string[] {
  if (typeof attributes !== 'object' || attributes === null) return ['it must be an object']
  const given = attributes as Given
  const { name, instructions = '', tools = [], hooks = [], state, initialState, expose } = given
  const problems = unknownKeys(given, ['name', 'instructions', 'tools', 'hooks', 'state', 'initialState', 'expose'])
  try {
    checkNewId('name', name)
  } catch (error) {
    problems.push(errorText(error))
  }
  if (typeof instructions !== 'string' && typeof instructions !== 'function') {
    problems.push("'instructions' must be a string or a function of the turn")
  }
  if (!Array.isArray(tools) || !tools.every(isTool)) problems.push("'tools' must be a list of tools made by defineTool")
  if (!Array.isArray(hooks)) problems.push("'hooks' must be a list")
  if (state !== undefined && !isSchema(state)) problems.push("'state' must be a Standard Schema or a JSON Schema")
  if (state === undefined && initialState !== undefined) problems.push("'initialState' needs 'state'")
  if (expose !== undefined && typeof expose !== 'boolean') problems.push("'expose' must be true or false")
  if (expose === true && state === undefined) problems.push("'expose' needs 'state'")
  if (isSchema(state)) problems.push(...initialProblems(state, initialState))
  return problems
}
