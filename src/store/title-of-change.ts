import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { Json } from '../base/json.ts'
import { decode, encode } from '../log/codec.ts'
import { seedTitle } from '../log/state.ts'
import { checkTitle } from './checks.ts'
import type { PreparedChange } from './driver.ts'
import type { ConversationAttrs } from './records.ts'

type EncodedEvent = PreparedChange['events'][number]

/** A title has one truth: the row says what the log says, in the same commit. A title that no event of the change gives becomes a `titled`. */
export function withTitle(events: readonly EncodedEvent[], title: ConversationAttrs['title']) {
  const logged = titleIn(events)
  if (logged !== undefined) {
    if (title === undefined || title === logged) return { events, title: logged }
    const problem = 'is not the one that the events of the change give; use the same, or leave it out'
    throw new InvalidArgumentError('title', problem)
  }
  if (title === undefined || isSeedTitle(title, events[0])) return { events, title }
  checkTitle(title)
  return { events: [...events, { type: 'titled', content: encode({ title }, 'title') }], title }
}

/** The title after these events; undefined where none of them gives one. */
function titleIn(events: readonly EncodedEvent[]): string | null | undefined {
  const last = events.findLast(({ type }) => type === 'titled')
  if (!last) return undefined
  const { title } = decode(last.content) as { readonly title: string | null }
  checkTitle(title)
  return title
}

/** A log that begins with a seed has the seed's title. */
function isSeedTitle(title: unknown, first: EncodedEvent | undefined): boolean {
  return first?.type === 'seeded' && title === seedTitle((decode(first.content) as { readonly state: Json }).state)
}
