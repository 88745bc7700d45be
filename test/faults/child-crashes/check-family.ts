import { childIdOf } from '../../../src/log/child-call.ts'
import type { EventOf, LogEvent } from '../../../src/log/events.ts'
import { foldEvents } from '../../../src/log/fold-events.ts'
import { keptMessages } from '../../../src/log/state.ts'
import type { Store } from '../../../src/store/store.ts'
import { checkHistory } from '../../log/check-history.ts'
import { type Story, stories } from './family.ts'

/** What must be so of both stories in the end, wherever a process was killed. `acted`: the call ids under which tools have acted. */
export async function checkFamilies(store: Store, prefix: string, acted: readonly string[]): Promise<string[]> {
  const problems: string[] = []
  for (const story of stories) {
    const found = await new Family(store, `${prefix}${story}`, story, acted).problems()
    problems.push(...found.map((problem) => `${story}: ${problem}`))
  }
  const waiting = (await store.pendingInbox({ limit: 1_000 })).filter((row) => acted.includes(row.id))
  if (waiting.length > 0) problems.push(`${waiting.length} calls that have acted are still pending`)
  return problems
}

class Family {
  readonly #store: Store
  readonly #id: string
  readonly #story: Story
  readonly #acted: readonly string[]
  readonly #problems: string[] = []

  constructor(store: Store, id: string, story: Story, acted: readonly string[]) {
    this.#store = store
    this.#id = id
    this.#story = story
    this.#acted = acted
  }

  async problems(): Promise<string[]> {
    const log = await this.#checked(this.#id)
    const status = this.#story === 'finish' ? 'completed' : 'cancelled'
    this.#must(endOf(log) === status, `the parent is ${endOf(log)}`)
    if (this.#story === 'finish') this.#must(textOf(log) === 'Done.', `the parent says '${textOf(log)}'`)
    const calls = ofType(log, 'tool_call')
    this.#must(calls.length === 2, `the parent has ${calls.length} calls`)
    for (const { content } of calls) await this.#checkChild(content.callId, log)
    const children = (await this.#store.listConversations({ limit: 10_000 })).filter(
      ({ parent }) => parent?.id === this.#id,
    )
    this.#must(children.length <= 2, `there are ${children.length} children for two calls`)
    return this.#problems
  }

  async #checkChild(callId: string, parentLog: readonly LogEvent[]): Promise<void> {
    const ends = ofType(parentLog, 'resolution').filter(({ content }) => content.callId === callId)
    this.#must(ends.length === 1, `the call of a child was resolved ${ends.length} times`)
    const id = childIdOf(callId)
    const record = await this.#store.getConversation(id)
    if (!record) return this.#must(this.#story === 'cancel', `there is no child for ${callId}`)
    this.#must(record.parent?.id === this.#id && record.parent.callId === callId, `${id} has another parent`)
    const log = await this.#checked(id)
    this.#must(ofType(log, 'user_msg').length === 1, `${record.agent} was started otherwise than once`)
    this.#checkEnds(log, ends[0], record.agent ?? '')
    for (const { content } of ofType(log, 'tool_call')) this.#checkEffects(content.callId, endOf(log))
  }

  /** What the parent was told is what the child came to. */
  #checkEnds(log: readonly LogEvent[], told: EventOf<'resolution'> | undefined, agent: string): void {
    const value = told?.content.value as { ok?: boolean; result?: unknown } | null | undefined
    if (endOf(log) === 'completed') {
      this.#must(value?.ok === true && value.result === textOf(log), `${agent} completed, told was ${say(value)}`)
    } else {
      this.#must(endOf(log) === 'cancelled', `${agent} is ${endOf(log)}`)
      this.#must(this.#story === 'cancel', `${agent} was cancelled without a request`)
      this.#must(value?.ok !== true, `${agent} was cancelled, told was ${say(value)}`)
    }
  }

  #checkEffects(callId: string, status: string): void {
    const times = this.#acted.filter((acted) => acted === callId).length
    this.#must(times <= 2, `a tool has acted ${times} times over one crash`)
    this.#must(status !== 'completed' || times >= 1, 'a tool has a result and has not acted')
  }

  /** The log of a conversation that must be at rest. */
  async #checked(id: string): Promise<LogEvent[]> {
    const log = await this.#store.streamEvents(id)
    try {
      checkHistory(log)
    } catch (error) {
      this.#problems.push(`${id}: ${error instanceof Error ? error.message : String(error)}`)
    }
    const record = await this.#store.getConversation(id)
    this.#must(record?.fsmState?.lastSeq === record?.lastSeq, `${id} was not let go at its end`)
    this.#must(record?.status === 'idle', `${id} is ${record?.status}`)
    return log
  }

  #must(isTrue: boolean, problem: string): void {
    if (!isTrue) this.#problems.push(problem)
  }
}

function ofType<Type extends LogEvent['type']>(log: readonly LogEvent[], type: Type): EventOf<Type>[] {
  return log.filter((event) => event.type === type) as unknown as EventOf<Type>[]
}

function endOf(log: readonly LogEvent[]): string {
  return ofType(log, 'turn_ended')[0]?.content.status ?? 'open'
}

function textOf(log: readonly LogEvent[]): string {
  const [turn] = foldEvents(log).turns
  const last = turn && keptMessages(turn).at(-1)
  return (last?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
}

function say(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing'
}
