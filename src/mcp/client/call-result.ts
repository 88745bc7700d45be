import type { Json } from '../../base/json.ts'
import { errorText } from '../../base/redact/redactor.ts'
import type { Turn } from '../../define/turn.ts'
import { canEncode } from '../../log/codec.ts'
import type { McpToolsOptions } from './server-address.ts'

/** What a call of a server returned. */
export type ServerResult = {
  readonly content?: readonly unknown[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
}

const maxResultBytes = 256 * 1024
const mostBlocks = 100
const maxError = 4_000

type Block = { readonly [key: string]: unknown }

/** Throws what the server calls an error. */
export function throwErrorIn(result: ServerResult): void {
  if (!result.isError) return
  throw new Error((textIn(blocksOf(result)) || 'it failed and did not say why').slice(0, maxError).toWellFormed())
}

/**
 * The result of a call as it is recorded: what is structured as it is, text alone as a text, and everything else as a list of parts. Files are not recorded:
 * `onFile` keeps them. Throws for results that are too large.
 */
export async function resultOf(result: ServerResult, turn: Turn, onFile: McpToolsOptions['onFile']): Promise<Json> {
  const blocks = blocksOf(result)
  const text = textIn(blocks)
  const others = blocks.filter(({ type }) => type !== 'text')
  if (result.structuredContent !== undefined && others.length === 0) return fitting(result.structuredContent as Json)
  if (others.length === 0) return cutText(text)
  const parts = await Promise.all(blocks.map((block) => partOf(block, turn, onFile)))
  const structured = result.structuredContent as Json | undefined
  return fitting(structured === undefined ? parts : { structured, parts })
}

function blocksOf({ content }: ServerResult): readonly Block[] {
  return (Array.isArray(content) ? content : []).slice(0, mostBlocks) as readonly Block[]
}

function textIn(blocks: readonly Block[]): string {
  return blocks.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : [])).join('\n')
}

async function partOf(block: Block, turn: Turn, onFile: McpToolsOptions['onFile']): Promise<Json> {
  const { type, text, mimeType, data, uri, name, title, description, resource } = block
  switch (type) {
    case 'text':
      return { type: 'text', text: String(text) }
    case 'image':
    case 'audio':
      return { type, ...(await fileOf(mimeType, data, turn, onFile)) }
    case 'resource_link':
      return { type: 'link', uri: String(uri), ...texts({ name, title, description, mediaType: mimeType }) }
    case 'resource': {
      const given = Object(resource) as Block
      const found = { type: 'resource', uri: String(given['uri']), ...texts({ mediaType: given['mimeType'] }) }
      if (typeof given['text'] === 'string') return { ...found, text: given['text'] }
      return { ...found, ...(await fileOf(given['mimeType'], given['blob'], turn, onFile)) }
    }
    default:
      return { type: String(type).slice(0, 40), leftOut: 'this kind of content is not known' }
  }
}

async function fileOf(
  mediaType: unknown,
  data: unknown,
  turn: Turn,
  onFile: McpToolsOptions['onFile'],
): Promise<{ [key: string]: Json }> {
  const bytes = Buffer.from(typeof data === 'string' ? data : '', 'base64')
  const type = typeof mediaType === 'string' ? mediaType : 'application/octet-stream'
  const about = { mediaType: type, bytes: bytes.length }
  if (!onFile) return { ...about, leftOut: 'files of results are not kept' }
  try {
    return { ...about, url: String(await onFile({ mediaType: type, bytes }, turn)) }
  } catch (error) {
    throw new Error(`a file of its result could not be kept: ${errorText(error)}`)
  }
}

function texts(members: { readonly [key: string]: unknown }): { [key: string]: string } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => typeof value === 'string')) as {
    [key: string]: string
  }
}

/** The beginning of a text tells more than an error about its length. */
function cutText(text: string): string {
  const bytes = Buffer.byteLength(text)
  if (bytes <= maxResultBytes) return text
  const kept = Buffer.from(text)
    .subarray(0, maxResultBytes)
    .toString()
    .replace(/\uFFFD$/, '')
  return `${kept}\n[${bytes - Buffer.byteLength(kept)} more bytes are left out]`
}

function fitting(value: Json): Json {
  // What cannot be recorded at all is refused with the reason where results of tools are.
  if (!canEncode(value)) return value
  const bytes = Buffer.byteLength(JSON.stringify(value))
  if (bytes > maxResultBytes) {
    throw new Error(`its result has ${bytes} bytes, and at most ${maxResultBytes} are recorded`)
  }
  return value
}
