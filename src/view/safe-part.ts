import type { AssistantPart, UserPart } from '../log/events.ts'
import { isFileUrl, withWebUrl } from '../log/file-url.ts'
import type { ViewPart } from './view.ts'

/** A part without an address that a page must not open: a log may be older than the rule that refuses such, or written by another program. */
export function safePart<Part extends UserPart | AssistantPart | ViewPart>(part: Part): Part {
  if (part.type === 'source') {
    const source = withWebUrl(part.source)
    return source === part.source ? part : { ...part, source }
  }
  if (part.type !== 'file' || typeof part.data !== 'string' || isFileUrl(part.data)) return part
  return { ...part, data: 'about:blank' }
}
