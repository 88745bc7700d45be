import type { Json, LogEvent } from 'perdure/client'

type Content<Type extends LogEvent['type']> = Extract<LogEvent, { type: Type }>['content']
export type FlowOp = Content<'flow_opened'>['op']

/** Something that the code of a flow asked for, and what came of it. */
export type Step = {
  /** Of the event that opened it. */
  readonly seq: number
  /** How often the session had gone on with a fresh record. */
  readonly generation: number
  readonly position: number
  readonly op: FlowOp
  readonly startedAt: number
  /** Null while it runs or waits. `isAbandoned`: the session went on without it. */
  readonly endedAt: number | null
  readonly outcome: Content<'flow_outcome'> | null
  readonly isAbandoned: boolean
}

/** What the log of a session says, as a person reads it. */
export type SessionStory = {
  readonly version: string | null
  readonly input: Json
  readonly who: string | null
  readonly startedAt: number | null
  readonly steps: readonly Step[]
  readonly ended: (Content<'flow_ended'> & { readonly at: number }) | null
}

/** Ignores what the fold of the server ignores: an operation out of order, and a second outcome. */
export function sessionStory(events: readonly LogEvent[]): SessionStory {
  let story: Omit<SessionStory, 'steps'> = { version: null, input: null, who: null, startedAt: null, ended: null }
  const steps: Step[] = []
  const open = new Map<number, number>()
  let generation = 0
  let opened = 0
  const abandon = (at: number): void => {
    for (const index of open.values()) steps[index] = { ...steps[index]!, endedAt: at, isAbandoned: true }
    open.clear()
    opened = 0
  }
  for (const event of events) {
    if (story.ended) break
    if (event.type === 'flow_started') {
      const { version, input, who } = event.content
      story = { ...story, version, input, who, startedAt: event.at }
    } else if (event.type === 'flow_opened') {
      const { position, op } = event.content
      if (position !== opened + 1) continue
      opened = position
      open.set(position, steps.length)
      const { seq, at: startedAt } = event
      steps.push({ seq, generation, position, op, startedAt, endedAt: null, outcome: null, isAbandoned: false })
    } else if (event.type === 'flow_outcome') {
      const index = open.get(event.content.position)
      if (index === undefined) continue
      open.delete(event.content.position)
      steps[index] = { ...steps[index]!, endedAt: event.at, outcome: event.content }
    } else if (event.type === 'flow_continued') {
      abandon(event.at)
      generation += 1
      story = { ...story, version: event.content.version }
    } else if (event.type === 'flow_ended') {
      abandon(event.at)
      story = { ...story, ended: { ...event.content, at: event.at } }
    }
  }
  return { ...story, steps }
}

/** Recorded at once, without anything that took time. */
export function isInstant({ op }: Step): boolean {
  return op.kind === 'now' || op.kind === 'random' || op.kind === 'uuid'
}

/** Waits for a person or a time; nothing runs meanwhile. */
export function isWait({ op }: Step): boolean {
  return op.kind === 'suspend' || op.kind === 'request' || op.kind === 'sleep'
}
