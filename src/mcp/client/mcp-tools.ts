import { pause } from '../../base/abort.ts'
import { McpServerError } from '../../base/errors/runtime-errors.ts'
import { isSameJson, type Json, type JsonObject } from '../../base/json.ts'
import { silentLogger } from '../../base/logger.ts'
import { defineTool } from '../../define/define-tool.ts'
import type { Schema } from '../../define/schema.ts'
import type { Tool } from '../../define/tool.ts'
import type { AskedByTool } from '../../define/tool-question.ts'
import type { ToolSource } from '../../define/tool-source.ts'
import { sourcePrefix } from '../../define/tool-source.ts'
import type { Turn } from '../../define/turn.ts'
import { validateOutside } from '../../define/validate.ts'
import { resultOf, type ServerResult, throwErrorIn } from './call-result.ts'
import { McpConnection } from './connection.ts'
import { type Continuation, continuationOf, type InputRequired, isInputRequired, questionOf } from './input-required.ts'
import { fetchTools, type ListedTool, readTools, type ToolList } from './listed-tools.ts'
import {
  checkMcpTools,
  type McpAddress,
  type McpProcess,
  type McpToolSettings,
  type McpToolsOptions,
} from './server-address.ts'

/** The tools of an MCP server, for the `toolSources` of agents. */
export type McpTools = ToolSource & {
  /** Whether it is connected, why not, the names of its tools here, and why others are left out. Connects to nothing. */
  status(): McpStatus
  /** Ends the connection. It is made again when a tool is next listed or called. */
  close(): Promise<void>
}

/** How a server of `mcpTools` is. `problem`: why it is not connected; `leftOut`: why tools of it are not there. */
export type McpStatus = {
  readonly isConnected: boolean
  readonly problem: string | null
  readonly tools: readonly string[]
  readonly leftOut: readonly string[]
}

/** Longer than the time a tool has here: that one decides. */
const patienceMs = 5_000
const defaultTimeoutMs = 300_000
const progressEveryMs = 100
/** How often a server that only wants to be asked again is. */
const mostRetries = 5
const retryAfterMs = 500

/**
 * The tools of a server that speaks the Model Context Protocol: a process that is started, or an address. Connects when a turn first needs them. What the server
 * says of its tools decides: read-only or idempotent ones may be run again, destructive ones need approval, unless `options` say otherwise. A server that is down,
 * dies or hangs costs error results, and is connected to again with growing pauses. Throws `DefinitionError`; calls end with an error where
 * `@modelcontextprotocol/client` is not installed.
 */
export function mcpTools(server: McpProcess | McpAddress, options: McpToolsOptions): McpTools {
  checkMcpTools(server, options)
  return new ServerTools(server, options)
}

class ServerTools implements McpTools {
  readonly name: string
  readonly #options: McpToolsOptions
  readonly #connection: McpConnection
  #list: ToolList = { tools: [], problems: [] }
  #tools = new Map<string, Tool>()
  #listedAt = Number.NEGATIVE_INFINITY
  #isChanged = false
  #listing: Promise<void> | null = null

  constructor(server: McpProcess | McpAddress, options: McpToolsOptions) {
    this.name = options.name
    this.#options = options
    const { baseMs = 500, maxMs = 30_000 } = options.retry ?? {}
    this.#connection = new McpConnection(server, {
      name: options.name,
      connectTimeoutMs: this.#connectTimeoutMs,
      retry: { baseMs, maxMs },
      onToolsChanged: () => {
        this.#isChanged = true
      },
    })
  }

  get #connectTimeoutMs(): number {
    return this.#options.connectTimeoutMs ?? 10_000
  }

  async list(): Promise<readonly Tool[]> {
    const { listedForMs = 60_000, logger = silentLogger } = this.#options
    if (this.#isChanged || !this.#connection.isConnected || Date.now() - this.#listedAt >= listedForMs) {
      try {
        await this.#refresh()
      } catch (error) {
        logger.warn('the tools of an MCP server could not be listed', { server: this.name, error })
      }
    }
    return [...this.#tools.values()]
  }

  toolFor(name: string): Tool {
    return this.#tools.get(name) ?? this.#unlisted(name)
  }

  status(): McpStatus {
    const { isConnected, problem } = this.#connection
    return { isConnected, problem, tools: [...this.#tools.keys()], leftOut: this.#list.problems }
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  #refresh(): Promise<void> {
    this.#listing ??= this.#fetch().finally(() => {
      this.#listing = null
    })
    return this.#listing
  }

  async #fetch(): Promise<void> {
    const { logger = silentLogger, tools: settings = {} } = this.#options
    const timeoutMs = this.#connectTimeoutMs
    const signal = AbortSignal.timeout(timeoutMs)
    this.#isChanged = false
    const listed = await this.#connection.use((client) => fetchTools(client, signal, timeoutMs), { mayAct: false })
    const list = readTools(this.#connection.secrets.hideIn(listed), sourcePrefix(this))
    const kept = list.tools.filter(
      ({ serverName }) => !Object.hasOwn(settings, serverName) || settings[serverName] !== false,
    )
    this.#tools = new Map(kept.map((tool) => [tool.name, this.#toTool(tool)]))
    if (list.problems.join() !== this.#list.problems.join()) {
      for (const problem of list.problems) logger.warn(problem, { server: this.name })
    }
    this.#list = { ...list, tools: kept }
    this.#listedAt = Date.now()
  }

  #settings(serverName: string): McpToolSettings {
    const { defaults = {}, tools = {} } = this.#options
    const own = Object.hasOwn(tools, serverName) ? tools[serverName] : undefined
    return { ...defaults, ...(own === false ? {} : own) }
  }

  #toTool(listed: ListedTool): Tool {
    const { name, serverName, description, inputSchema, isIdempotent, isDestructive } = listed
    const settings = this.#settings(serverName)
    return defineTool({
      name,
      description,
      input: outsideSchema(inputSchema),
      approval: settings.approval ?? (isDestructive ? 'required' : 'auto'),
      ifInterrupted: settings.ifInterrupted ?? (isIdempotent ? 'rerun' : 'report'),
      timeoutMs: settings.timeoutMs ?? defaultTimeoutMs,
      ...(settings.expiresInMs === undefined ? {} : { expiresInMs: settings.expiresInMs }),
      ...(settings.retention === undefined ? {} : { retention: settings.retention }),
      run: (args, turn) => this.#call(name, args as JsonObject, turn),
    }) as unknown as Tool
  }

  /** For a call in the log: its decisions are recorded, and the list is asked for when it runs. */
  #unlisted(name: string): Tool {
    return defineTool({
      name,
      description: 'A tool of another server',
      input: { type: 'object' },
      run: (args, turn) => this.#call(name, args as JsonObject, turn),
    }) as unknown as Tool
  }

  async #call(name: string, args: JsonObject, turn: Turn): Promise<unknown> {
    const listed = await this.#found(name)
    const answer = turn.answer ? continuationOf(turn.answer) : {}
    let result = await this.#send(listed, args, turn, answer)
    for (let retry = 1; isInputRequired(result); retry++) {
      const asked = this.#ask(result, turn)
      if (asked) return asked
      if (retry > mostRetries) throw new McpServerError(this.name, 'asked to be asked again without end')
      await pause(retryAfterMs, { signal: turn.signal })
      turn.signal.throwIfAborted()
      result = await this.#send(
        listed,
        args,
        turn,
        result.requestState === undefined ? {} : { requestState: result.requestState },
      )
    }
    return await this.#recorded(listed, result as ServerResult, turn)
  }

  /** A faulty result must not count as a refusal of the call, or the effect would be repeated. */
  async #recorded({ definition, isReadOnly }: ListedTool, result: ServerResult, turn: Turn): Promise<Json> {
    const { secrets } = this.#connection
    const shown = secrets.hideIn(result)
    throwErrorIn(shown)
    try {
      const { outputSchema } = definition
      const checked = outputSchema && validateOutside(outputSchema as JsonObject, result.structuredContent)
      if (checked?.ok === false) throw new Error(`its result does not match its schema: ${checked.issues}`)
      return await resultOf(shown, turn, this.#options.onFile)
    } catch (error) {
      const problem = `ran the call, but ${this.#connection.quoted(error)}`
      throw new McpServerError(this.name, problem, { mayHaveActed: !isReadOnly })
    }
  }

  /** Null: the server only wants to be asked again. What it gets back is its own word for word, so a secret in that cannot be taken out. */
  #ask(result: InputRequired, turn: Turn): AskedByTool | null {
    const { secrets } = this.#connection
    try {
      const question = questionOf(result, this.name)
      if (!question) return null
      const { state, ...shown } = question
      if (!isSameJson(secrets.hideIn(state), state)) throw new Error('its state holds a secret that it was given')
      return turn.ask({ ...secrets.hideIn(shown), state })
    } catch (error) {
      const why = this.#connection.quoted(error).replace(/\. Correct the argument\.$/, '')
      throw new McpServerError(this.name, `asks for what cannot be asked: ${why}`)
    }
  }

  async #found(name: string): Promise<ListedTool> {
    const known = () => this.#list.tools.find((tool) => tool.name === name)
    if (!known()) await this.#refresh()
    const found = known()
    if (!found) throw new McpServerError(this.name, `has no tool '${name}' any more; it was not run`)
    return found
  }

  async #send(listed: ListedTool, args: JsonObject, turn: Turn, answer: Continuation): Promise<unknown> {
    const { serverName, isReadOnly, definition } = listed
    const timeout = (this.#settings(serverName).timeoutMs ?? defaultTimeoutMs) + patienceMs
    const params = { name: serverName, arguments: args, ...answer }
    try {
      return await this.#connection.use(
        (client) =>
          client.callTool(params as never, {
            signal: turn.signal,
            timeout,
            allowInputRequired: true,
            toolDefinition: { ...definition, outputSchema: undefined },
            onprogress: throttled((progress) => turn.reportProgress(this.#connection.secrets.hideIn(progress))),
          }),
        { signal: turn.signal, mayAct: !isReadOnly },
      )
    } catch (error) {
      // It may hang: the next turn finds out when it lists the tools, and connects again.
      if (turn.signal.aborted) this.#isChanged = true
      throw error
    }
  }
}

/** A JSON Schema of a stranger: its steps are counted. */
function outsideSchema(schema: JsonObject): Schema {
  const standard = {
    version: 1 as const,
    vendor: 'perdure-mcp',
    validate: (value: unknown) => {
      const checked = validateOutside(schema, value)
      return checked.ok ? { value: checked.value } : { issues: [{ message: checked.issues }] }
    },
    jsonSchema: { input: () => schema as Record<string, unknown>, output: () => schema as Record<string, unknown> },
  }
  return { '~standard': standard } as unknown as Schema
}

function throttled(report: (progress: Json) => void): (progress: unknown) => void {
  let lastAt = Number.NEGATIVE_INFINITY
  return (progress) => {
    const now = Date.now()
    if (now - lastAt < progressEveryMs) return
    lastAt = now
    report(progress as Json)
  }
}
