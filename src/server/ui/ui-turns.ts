import { jsonText } from '../../log/codec.ts'
import type { SignedFiles } from '../../runtime/signed-files.ts'
import type { View } from '../../view/view.ts'
import { filePath } from '../file-response.ts'
import { type Between, chunksBetween } from './chunks-between.ts'
import type { UiChunk, UiTurn } from './ui-turn.ts'
import { type FileUrl, uiTurnOf } from './ui-turn-of.ts'

export type UiFrame = Omit<Between, 'chunks'> & { readonly bytes: Uint8Array }

/**
 * Encoded frames for the clients of one server. Clients that show the same state need the same frame, which is encoded
 * once.
 */
export class UiTurns {
  readonly #basePath: string
  readonly #files: SignedFiles
  #fileUrls = new Map<string, FileUrl>()
  #window = 0
  readonly #turns = new WeakMap<FileUrl, WeakMap<View, Map<string, UiTurn | 'between' | null>>>()
  readonly #frames = { v6: new WeakMap<object, Frames>(), v7: new WeakMap<object, Frames>() }

  constructor(basePath: string, files: SignedFiles) {
    this.#basePath = basePath
    this.#files = files
  }

  /**
   * Addresses of files for pages of any origin, which expire. Must be used only for callers who may read the
   * conversation. The same function until addresses expire later, because what is made with it is kept by it.
   */
  fileUrlOf(tenant: string): FileUrl {
    const window = this.#files.window()
    if (window !== this.#window || this.#fileUrls.size >= mostTenants) this.#fileUrls = new Map()
    this.#window = window
    const known = this.#fileUrls.get(tenant)
    if (known) return known
    const fileUrl: FileUrl = (id, blob) =>
      `${this.#basePath}${filePath(id, blob)}?signed=${this.#files.sign({ tenant, id }, blob)}`
    this.#fileUrls.set(tenant, fileUrl)
    return fileUrl
  }

  of(view: View, turnId: string, tenant: string): UiTurn | 'between' | null {
    const fileUrl = this.fileUrlOf(tenant)
    const views = this.#turns.get(fileUrl) ?? new WeakMap<View, Map<string, UiTurn | 'between' | null>>()
    this.#turns.set(fileUrl, views)
    const known = views.get(view) ?? new Map<string, UiTurn | 'between' | null>()
    views.set(view, known)
    const kept = known.get(turnId)
    if (kept !== undefined) return kept
    const turn = uiTurnOf(view, turnId, fileUrl)
    known.set(turnId, turn)
    return turn
  }

  frame(before: UiTurn | null, after: UiTurn | null, isV7: boolean): UiFrame {
    if (!after) return written(chunksBetween(before, after, { isV7 }))
    const frames = this.#frames[isV7 ? 'v7' : 'v6']
    const known = frames.get(before ?? nothing) ?? new WeakMap()
    frames.set(before ?? nothing, known)
    const frame = known.get(after) ?? written(chunksBetween(before, after, { isV7 }))
    known.set(after, frame)
    return frame
  }

  /** The first frame for a client that says what it shows. Not shared. */
  ownFrame(held: UiTurn, after: UiTurn, isV7: boolean): UiFrame {
    return written(chunksBetween(held, after, { isV7, isFirst: true }))
  }
}

const mostTenants = 1_000

type Frames = WeakMap<UiTurn, UiFrame>

const nothing = {}
const encoder = new TextEncoder()

function written({ chunks, shown, isOver }: Between): UiFrame {
  return { bytes: framesOf(chunks), shown, isOver }
}

export function framesOf(chunks: readonly UiChunk[]): Uint8Array {
  return encoder.encode(chunks.map((chunk) => `data: ${jsonText(chunk)}\n\n`).join(''))
}

export const doneFrame = encoder.encode('data: [DONE]\n\n')
