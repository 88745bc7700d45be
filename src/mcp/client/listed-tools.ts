import { createHash } from 'node:crypto'
import type { Client } from '@modelcontextprotocol/client'
import type { JsonObject } from '../../base/json.ts'
import { checkOutsideSchema } from '../../base/json-schema/compile-schema.ts'
import { errorText } from '../../base/redact/redactor.ts'
import { encode } from '../../log/codec.ts'

/** A tool as its server describes it, after the checks. */
export type ListedTool = {
  /** Its name here. */
  readonly name: string
  /** Its name at the server. */
  readonly serverName: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly isReadOnly: boolean
  readonly isIdempotent: boolean
  readonly isDestructive: boolean
  /** As the server sent it. */
  readonly definition: ServerTool
}

export type ServerTool = Awaited<ReturnType<Client['listTools']>>['tools'][number]

/** What a server listed. `problems`: one line for each tool that is left out. */
export type ToolList = { readonly tools: readonly ListedTool[]; readonly problems: readonly string[] }

const mostTools = 256
const mostPages = 64
const mostListedBytes = 2 * 1024 * 1024
const maxSchemaBytes = 64 * 1024
const maxDescription = 4_000
const maxName = 64
const mostProblems = 20

/** All pages of the list, as far as the limits go. */
export async function fetchTools(client: Client, signal: AbortSignal, timeout: number): Promise<ServerTool[]> {
  const found: ServerTool[] = []
  let cursor: string | undefined
  let bytes = 0
  if (!client.getServerCapabilities()?.tools) return found
  for (let page = 0; page < mostPages; page++) {
    // A page at a time: `listTools` without a cursor would hold all of them, whatever their size, and no server must know an empty one.
    const params = cursor === undefined ? {} : { cursor }
    const listed = await client.request({ method: 'tools/list', params }, { signal, timeout })
    bytes += Buffer.byteLength(JSON.stringify(listed.tools))
    found.push(...listed.tools)
    if (bytes > mostListedBytes || found.length > mostTools) return found
    cursor = listed.nextCursor
    if (!cursor) return found
  }
  return found
}

/** Takes over what can be used: providers accept few names, and schemas of strangers may be anything. */
export function readTools(listed: readonly ServerTool[], prefix: string): ToolList {
  const tools = new Map<string, ListedTool>()
  const problems: string[] = []
  const leaveOut = (name: unknown, problem: string): void => {
    const shown = String(name)
      .slice(0, 80)
      .replaceAll(/\p{Cc}/gu, '?')
    if (problems.length < mostProblems) problems.push(`the tool '${shown}' is left out: ${problem}`)
  }
  let bytes = 0
  for (const definition of listed) {
    const { name } = definition
    const problem = problemOf(definition)
    const ownName = localName(prefix, name)
    bytes += sizeOf(definition)
    if (problem !== null) leaveOut(name, problem)
    else if (tools.has(ownName)) leaveOut(name, 'the server lists it twice')
    else if (tools.size >= mostTools) leaveOut(name, `the server lists more than ${mostTools}`)
    else if (bytes > mostListedBytes) leaveOut(name, `the descriptions have more than ${mostListedBytes} bytes`)
    else tools.set(ownName, toListed(definition, ownName))
  }
  return { tools: [...tools.values()], problems }
}

/** As the model may call it. Another name than the server's has a part of its digest, so that two of them stay two. */
function localName(prefix: string, serverName: string): string {
  const clean = String(serverName).replaceAll(/[^a-zA-Z0-9_-]/g, '_')
  const full = prefix + clean
  if (clean === serverName && full.length <= maxName) return full
  const digest = createHash('sha256').update(String(serverName)).digest('hex').slice(0, 8)
  return `${full.slice(0, maxName - 9)}_${digest}`
}

function problemOf({ name, inputSchema, outputSchema }: ServerTool): string | null {
  if (typeof name !== 'string' || name === '' || name.length > 128) return 'its name must have 1 to 128 characters'
  if (/[\p{Cc}\p{Cs}]/u.test(name)) return 'its name has control characters'
  try {
    checkSchema(inputSchema)
    if (outputSchema !== undefined) checkSchema(outputSchema)
    return inputSchema.type === 'object' ? null : 'its schema does not describe an object'
  } catch (error) {
    return `its schema cannot be used: ${errorText(error).slice(0, 200)}`
  }
}

function checkSchema(given: unknown): void {
  const text = encode(given)
  const bytes = Buffer.byteLength(text)
  if (bytes > maxSchemaBytes) throw new Error(`it has ${bytes} bytes; the limit is ${maxSchemaBytes}`)
  checkOutsideSchema(JSON.parse(text) as JsonObject)
}

function sizeOf(definition: ServerTool): number {
  try {
    return Buffer.byteLength(JSON.stringify(definition))
  } catch {
    return mostListedBytes
  }
}

function toListed(definition: ServerTool, name: string): ListedTool {
  const { description, title, annotations = {}, inputSchema } = definition
  const { readOnlyHint, idempotentHint, destructiveHint } = annotations
  const text = description || title || annotations.title || `The tool ${definition.name}`
  const isReadOnly = readOnlyHint === true
  return {
    name,
    serverName: definition.name,
    description: text.slice(0, maxDescription).toWellFormed(),
    inputSchema: inputSchema as JsonObject,
    isReadOnly,
    isIdempotent: isReadOnly || idempotentHint === true,
    // The default of the protocol, if the server says nothing.
    isDestructive: !isReadOnly && destructiveHint !== false,
    definition,
  }
}
