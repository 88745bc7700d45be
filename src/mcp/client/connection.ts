import type { Client } from '@modelcontextprotocol/client'
import { PerdureError, packageVersion } from '../../base/errors/perdure-error.ts'
import { McpServerError } from '../../base/errors/runtime-errors.ts'
import type { JsonObject } from '../../base/json.ts'
import { errorText } from '../../base/redact/redactor.ts'
import { validateOutside } from '../../define/validate.ts'
import { boundMessages } from './bound-messages.ts'
import { loadClient } from './load-client.ts'
import { Secrets } from './secrets.ts'
import { isProcess, type McpAddress, type McpProcess } from './server-address.ts'
import { openTransport } from './transport.ts'

type ConnectionOptions = {
  readonly name: string
  readonly connectTimeoutMs: number
  readonly retry: { readonly baseMs: number; readonly maxMs: number }
  /** The server says that its tools are others now. */
  onToolsChanged(): void
}

/** `mayAct`: what fails may have taken effect. */
type Use = { readonly signal?: AbortSignal; readonly mayAct: boolean }

/** Codes of JSON-RPC for a call that was not made: it cannot be parsed, is not a request, or has an unknown method or wrong arguments. */
const refusals = new Set([-32_700, -32_600, -32_601, -32_602])

/** The most of what a server says that is quoted in an error. */
const maxQuoted = 500

/** The connection to one server: made when it is first needed, and made again after it broke, with pauses that grow. */
export class McpConnection {
  readonly secrets = new Secrets()
  readonly #server: McpProcess | McpAddress
  readonly #options: ConnectionOptions
  #client: Client | null = null
  #connecting: Promise<Client> | null = null
  #failures = 0
  #retryAt = 0
  #problem: string | null = null
  #inFlight = 0

  constructor(server: McpProcess | McpAddress, options: ConnectionOptions) {
    this.#server = server
    this.#options = options
  }

  get isConnected(): boolean {
    return this.#client !== null
  }

  /** Why it is not connected; null while it is, and before it was tried. */
  get problem(): string | null {
    return this.#problem
  }

  /** Does something with the connected server. Rejects with `McpServerError`; with the reason of `signal`, where that ended it. */
  async use<T>(work: (client: Client) => Promise<T>, { signal, mayAct }: Use): Promise<T> {
    const client = await this.#connected()
    this.#inFlight += 1
    try {
      return await work(client)
    } catch (error) {
      signal?.throwIfAborted()
      throw await this.#failed(client, error, mayAct)
    } finally {
      this.#inFlight -= 1
    }
  }

  async close(): Promise<void> {
    const connecting = this.#connecting
    const client = this.#client ?? (await connecting?.catch(() => null))
    this.#client = null
    await client?.close().catch(() => {})
  }

  #connected(): Promise<Client> {
    if (this.#client) return Promise.resolve(this.#client)
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = null
    })
    return this.#connecting
  }

  async #connect(): Promise<Client> {
    const { name, connectTimeoutMs, onToolsChanged } = this.#options
    const waitMs = this.#retryAt - Date.now()
    if (waitMs > 0)
      throw new McpServerError(name, `cannot be reached: ${this.#problem}; the next attempt is in ${waitMs} ms`)
    // Not a failure of the server.
    const { Client } = await loadClient()
    try {
      const transport = await openTransport(this.#server, this.secrets)
      const bound = boundMessages(transport, () => {
        if (this.#client === client) this.#lost(bound.excess!)
        transport.kill?.()
        client.close().catch(() => {})
      })
      const client = new Client(
        { name: 'perdure', version: packageVersion },
        {
          capabilities: { elicitation: { form: {}, url: {} } },
          versionNegotiation: { mode: 'auto', ...this.#probe },
          inputRequired: { autoFulfill: false },
          listChanged: { tools: { autoRefresh: false, onChanged: onToolsChanged } },
          jsonSchemaValidator: untrustedSchemas,
        },
      )
      // Servers of the older protocol ask within a connection, which could not wait for weeks.
      client.setRequestHandler('elicitation/create', async () => ({ action: 'decline' as const }))
      // What it complains of also fails the call that it is about.
      client.onerror = () => bound.invalid()
      const timeout = AbortSignal.timeout(connectTimeoutMs)
      try {
        await client.connect(transport, { signal: timeout, timeout: connectTimeoutMs })
      } catch (error) {
        await client.close().catch(() => {})
        await transport.close().catch(() => {})
        throw bound.excess === null ? error : new Error(bound.excess)
      }
      client.onclose = () => {
        if (this.#client === client) this.#lost('it closed the connection')
      }
      this.#client = client
      this.#failures = 0
      this.#problem = null
      return client
    } catch (error) {
      if (PerdureError.isInstance(error)) throw error
      this.#lost(this.quoted(error))
      const inMs = Math.max(0, this.#retryAt - Date.now())
      throw new McpServerError(name, `cannot be reached: ${this.#problem}; the next attempt is in ${inMs} ms`)
    }
  }

  /** Some older processes do not answer what they do not know: time must be left to speak as they do. An address that is silent is down. */
  get #probe(): { readonly probe?: { readonly timeoutMs: number } } {
    return isProcess(this.#server) ? { probe: { timeoutMs: Math.ceil(this.#options.connectTimeoutMs / 3) } } : {}
  }

  /** What a server says when it fails, without what it was given, and short. */
  quoted(error: unknown): string {
    const text = this.secrets.hide(errorText(error)).replaceAll(/[\s\p{Cc}]+/gu, ' ')
    return text.length <= maxQuoted ? text : `${text.slice(0, maxQuoted).toWellFormed()}…`
  }

  #lost(problem: string): void {
    this.#client = null
    this.#problem = problem
    const { baseMs, maxMs } = this.#options.retry
    this.#retryAt = Date.now() + Math.min(maxMs, baseMs * 2 ** Math.min(this.#failures, 20))
    this.#failures += 1
  }

  /** The error to report. A server that refuses is alive; one that fails in any other way is disconnected, unless other calls still wait for it. */
  async #failed(client: Client, error: unknown, mayAct: boolean): Promise<unknown> {
    const { name } = this.#options
    if (PerdureError.isInstance(error)) return error
    const { ProtocolError, SdkError, SdkErrorCode } = await loadClient()
    const isOurs = this.#client === client
    // A connection that this side closed is not at fault.
    const said = isOurs || !this.#problem ? this.quoted(error) : this.#problem
    if (error instanceof ProtocolError) {
      const isRefusal = refusals.has(error.code)
      return new McpServerError(name, `${isRefusal ? 'refused' : 'failed'}: ${said}`, {
        mayHaveActed: mayAct && !isRefusal,
      })
    }
    const isTimeout = SdkError.isInstance(error) && error.code === SdkErrorCode.RequestTimeout
    if (isOurs && (!isTimeout || this.#inFlight <= 1)) {
      this.#lost(said)
      await client.close().catch(() => {})
    }
    return new McpServerError(name, `did not answer: ${said}`, { mayHaveActed: mayAct })
  }
}

/** Schemas of servers are checked in counted steps, as all from outside. */
const untrustedSchemas = {
  getValidator: <T>(schema: unknown) => {
    return (input: unknown) => {
      const checked = validateOutside(schema as JsonObject, input)
      return checked.ok
        ? { valid: true as const, data: checked.value as T, errorMessage: undefined }
        : { valid: false as const, data: undefined, errorMessage: checked.issues }
    }
  },
}
