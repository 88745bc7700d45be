import { DefinitionError } from '../../base/errors/definition-errors.ts'
import { numberProblems, shown, unknownKeys } from '../../base/errors/read-options.ts'
import type { Logger } from '../../base/logger.ts'
import type { Retention } from '../../define/tool.ts'
import { retentionProblems } from '../../define/tool-problems.ts'
import { sourceNames } from '../../define/tool-source.ts'
import type { Turn } from '../../define/turn.ts'
import type { IfInterrupted } from '../../log/events.ts'

/** A server that is started as a process of its own and spoken to over its standard input and output. */
export type McpProcess = {
  readonly command: string
  readonly args?: readonly string[]
  /** Beside the few variables that every process needs, such as PATH: the process does not get those of this one. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** A server at an address, spoken to over streamable HTTP. */
export type McpAddress = {
  /** `https:`, or `http:` with `allowPrivateAddresses`. */
  readonly url: string
  /** Sent with each request; a function is asked before each, for tokens that change. They are in no log and no error. */
  readonly headers?: Readonly<Record<string, string>> | (() => McpHeaders | Promise<McpHeaders>)
  /** Makes the requests. It connects by itself, so checking addresses is its own. Default: connects to no private address, and follows no redirects to others. */
  readonly fetch?: (url: string | URL, init?: RequestInit) => Promise<Response>
  /** Allows addresses of this machine and of private networks. Default: false. */
  readonly allowPrivateAddresses?: boolean
}

type McpHeaders = Readonly<Record<string, string>>

/** How the tools of a server behave here, whatever the server says of them. */
export type McpToolSettings = {
  /** Default: `auto` for what the server calls read-only or not destructive, else `required`. */
  readonly approval?: 'auto' | 'required'
  /** Default: `rerun` for what the server calls read-only or idempotent, else `report`. */
  readonly ifInterrupted?: IfInterrupted
  /** How long a call may take. Default: 300,000. */
  readonly timeoutMs?: number
  /** How long a person has for an approval or a question. Default: no limit. */
  readonly expiresInMs?: number
  readonly retention?: Retention
}

/** An image, a recording or another file that is part of a result. */
export type McpFile = { readonly mediaType: string; readonly bytes: Uint8Array }

/** The options of `mcpTools`. */
export type McpToolsOptions = {
  /** What the names of its tools begin with here, before two underscores. 1 to 24 of a-z A-Z 0-9 -. */
  readonly name: string
  /** For all of its tools. */
  readonly defaults?: McpToolSettings
  /** By the name that the server gives a tool; false leaves the tool out. */
  readonly tools?: Readonly<Record<string, McpToolSettings | false>>
  /** Keeps a file of a result, and returns where it is. Default: files are left out of results, which say so. */
  readonly onFile?: (file: McpFile, turn: Turn) => string | Promise<string>
  /** How long connecting and listing may take together. Default: 10,000. */
  readonly connectTimeoutMs?: number
  /** How long a list of tools is used before the next turn asks for it again, where the server does not say that it has changed. Default: 60,000. */
  readonly listedForMs?: number
  /** Pauses between attempts to connect, which double. Default: from 500 to 30,000. */
  readonly retry?: { readonly baseMs?: number; readonly maxMs?: number }
  /** Told of a server that fails and of tools that are left out. Default: silent. */
  readonly logger?: Logger
}

const processKeys = ['command', 'args', 'env', 'cwd']
const addressKeys = ['url', 'headers', 'fetch', 'allowPrivateAddresses']
const optionKeys = [...['name', 'defaults', 'tools', 'onFile', 'connectTimeoutMs', 'listedForMs', 'retry', 'logger']]
const settingKeys = ['approval', 'ifInterrupted', 'timeoutMs', 'expiresInMs', 'retention']

type Given = { readonly [key: string]: unknown }

/** Throws `DefinitionError` with everything that is wrong. */
export function checkMcpTools(server: unknown, options: unknown): void {
  const { name } = Object(options) as Given
  const problems = [...serverProblems(server), ...optionProblems(options)]
  if (problems.length > 0) throw new DefinitionError(`The MCP server '${shown(name)}'`, problems)
}

export function isProcess(server: McpProcess | McpAddress): server is McpProcess {
  return 'command' in server
}

function serverProblems(server: unknown): string[] {
  if (typeof server !== 'object' || server === null) return ['the server must be { command } or { url }']
  const given = server as Given
  if ('command' in given === 'url' in given) return ["the server must have either 'command' or 'url'"]
  return 'command' in given ? processProblems(given) : addressProblems(given)
}

function processProblems(given: Given): string[] {
  const { command, args = [], env = {}, cwd } = given
  const problems = unknownKeys(given, processKeys)
  if (typeof command !== 'string' || command === '') problems.push("'command' must be the name of a program")
  if (!Array.isArray(args) || !args.every(isText)) problems.push("'args' must be a list of texts")
  if (!isTexts(env)) problems.push("'env' must be an object of texts")
  if (cwd !== undefined && typeof cwd !== 'string') problems.push("'cwd' must be the path of a folder")
  return problems
}

function addressProblems(given: Given): string[] {
  const { url, headers = {}, fetch, allowPrivateAddresses = false } = given
  const problems = unknownKeys(given, addressKeys)
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : null
  if (!parsed || !['http:', 'https:'].includes(parsed.protocol)) {
    problems.push("'url' must be an address that begins with https://")
  } else if (parsed.protocol === 'http:' && allowPrivateAddresses !== true && fetch === undefined) {
    problems.push("'url' must begin with https://; http:// is for private networks, with allowPrivateAddresses")
  }
  if (parsed && (parsed.username || parsed.password)) problems.push("'url' must not contain a password; use 'headers'")
  if (typeof headers !== 'function' && !isTexts(headers)) problems.push("'headers' must be an object of texts")
  if (fetch !== undefined && typeof fetch !== 'function') problems.push("'fetch' must be a function")
  if (typeof allowPrivateAddresses !== 'boolean') problems.push("'allowPrivateAddresses' must be true or false")
  return problems
}

function optionProblems(options: unknown): string[] {
  const given = Object(options) as Given
  const { name, defaults = {}, tools = {}, retry = {}, onFile } = given
  const problems = unknownKeys(given, optionKeys)
  if (typeof name !== 'string' || !sourceNames.test(name)) problems.push("'name' must be 1 to 24 of a-z A-Z 0-9 -")
  if (onFile !== undefined && typeof onFile !== 'function') problems.push("'onFile' must be a function of a file")
  problems.push(...numberProblems(given, { connectTimeoutMs: 1, listedForMs: 0 }))
  problems.push(...unknownKeys(retry, ['baseMs', 'maxMs']), ...numberProblems(Object(retry), { baseMs: 1, maxMs: 1 }))
  problems.push(...settingProblems('defaults', defaults))
  if (typeof tools !== 'object' || tools === null) problems.push("'tools' must be an object")
  else {
    for (const [tool, settings] of Object.entries(tools))
      if (settings !== false) problems.push(...settingProblems(`tools.${shown(tool)}`, settings))
  }
  return problems
}

function settingProblems(where: string, settings: unknown): string[] {
  const given = Object(settings) as Given
  const { approval = 'auto', ifInterrupted = 'report', retention } = given
  const problems = unknownKeys(settings, settingKeys)
  if (approval !== 'auto' && approval !== 'required') problems.push("'approval' must be 'auto' or 'required'")
  if (!['report', 'rerun', 'ask'].includes(ifInterrupted as string)) {
    problems.push("'ifInterrupted' must be one of report, rerun, ask")
  }
  problems.push(...numberProblems(given, { timeoutMs: 1, expiresInMs: 1 }))
  if (retention !== undefined) problems.push(...retentionProblems('retention', retention))
  return problems.map((problem) => `'${where}': ${problem}`)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

export function isTexts(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every(isText)
}
