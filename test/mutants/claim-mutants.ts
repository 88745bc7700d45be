import type { Case, Mutant } from './mutant.ts'

const claims = (test: string): Case => ({ file: 'src/engine/lease/claims.test.ts', test })
const search = (test: string): Case => ({ file: 'src/engine/lease/work-search.test.ts', test })
const orphaned = (test: string): Case => ({ file: 'test/stories/leases-orphaned.test.ts', test })
const ends = (test: string): Case => ({ file: 'src/store/postgres/claim-due.test.ts', test })
const sets = (test: string): Case => ({ file: 'src/store/working-sets.test.ts', test })
const claimed = (test: string): Case => ({ file: 'test/stories/working-sets-claimed.test.ts', test })
const channel = (test: string): Case => ({ file: 'src/store/postgres/hint-channel.test.ts', test })
const takers = (test: string): Case => ({ file: 'src/store/postgres/takers.test.ts', test })
const hints = (test: string): Case => ({ file: 'src/store/postgres/hints.test.ts', test })
const expiry = (test: string): Case => ({ file: 'src/store/expiry-loop.test.ts', test })
const limits = (test: string): Case => ({ file: 'src/store/postgres/limit-tables.test.ts', test })
const postgres = (test: string): Case => ({ file: 'src/store/postgres/postgres-store.test.ts', test })
const memory = (test: string): Case => ({ file: 'src/store/memory/memory-store.test.ts', test })

const named = 'of named conversations those are taken that are due, and no others'
const lapses = 'of those with lapses no more are taken than asked for, and they are counted'
const naming =
  'is for the named conversation alone where a hint names this process, and a little later where it names another'

const planted: readonly (readonly [name: string, file: string, find: string, replace: string, killedBy: Case])[] = [
  [
    'a claim finds no more than it takes, and nothing where another is taking that',
    'src/store/postgres/claim-due.ts',
    'const spares = { others: 4, suspects: 16 }',
    'const spares = { others: 1, suspects: 1 }',
    limits('instead of what another claim is taking the next is taken, also of what has lapses'),
  ],
  [
    'processes race for deadlines that others end',
    'src/store/expiry-loop.ts',
    'if (lost >= mostLost) return jittered(leftMs)',
    '',
    expiry(
      'where others end ten calls of one look, it leaves more to them for up to half a second, and with nine it does not',
    ),
  ],
  [
    'a process looks for whatever is due when it has ended a call',
    'src/store/expiry-loop.ts',
    '...(taker === undefined ? {} : { taker })',
    '',
    expiry('what another process should take is announced so, as the store chose'),
  ],
  [
    'a deadline never names a worker of its own process',
    'src/store/postgres/hints.ts',
    "if ('worker' in said) this.#takers.anywhere.heard(said)",
    '',
    hints(
      'a deadline that has passed names one worker for all, also where it is one of the process that ended the call',
    ),
  ],
  [
    'the place of a suspect is not kept while many are claimed',
    'src/engine/lease/claims.ts',
    'if (suspects > 0) this.#suspect = notKnownYet',
    '',
    claims('while many are claimed the place is kept for the one that may come, and is free again when none did'),
  ],
  [
    'the suspect among many holds no place',
    'src/engine/lease/claims.ts',
    'if (suspect) this.#hold(suspect)',
    '',
    claims('of many that are claimed at once one has lapses, and keeps the place until it is left'),
  ],
  [
    'what a claim under way brings is taken for strays',
    'src/engine/lease/lease-keeper.ts',
    'strays.length > 0 ? this.#worker.claiming() : null',
    'strays.length < 0 ? this.#worker.claiming() : null',
    orphaned('the leases of a claim whose answer is on its way are not taken for lost ones, however many'),
  ],
  [
    'named conversations are looked for among all',
    'src/engine/lease/work-search.ts',
    '...(only ? { except: skipped, only } : { except: [...skipped, ...held] }),',
    'except: [...skipped, ...held],',
    search(naming),
  ],
  [
    'what is worked on here is claimed anew when its lease has lapsed',
    'src/engine/lease/work-search.ts',
    'except: [...skipped, ...held]',
    'except: skipped',
    search('asks for its own flows, and for as many as there is room for'),
  ],
  [
    'what is heard of as a search ends is not looked for',
    'src/engine/lease/work-search.ts',
    'this.#looking = null',
    'void Promise.resolve().then(() => void (this.#looking = null))',
    search('misses nothing that is heard of just as a search ends'),
  ],
  [
    'what another process was named for is not looked for later',
    'src/engine/lease/work-search.ts',
    'else if (taker !== null) this.#otherIsNamed()',
    '',
    search(naming),
  ],
  [
    'what was named past the room is forgotten',
    'src/engine/lease/work-search.ts',
    'if (only && only.length > room) this.#worker.onFull()',
    '',
    search('for named conversations takes no more than there is room for, and the others when there is'),
  ],
  [
    'postgres: a claim brings a log from its beginning, past its summary',
    'src/store/postgres/claim-due.ts',
    'AND (e.seq > 1 OR NOT EXISTS',
    'AND (e.seq > 0 OR NOT EXISTS',
    ends('the first event of a log with a summary is not brought: the log is read from its summary on'),
  ],
  [
    'postgres: what is handed to a worker waits as long as any hint',
    'src/store/postgres/hints.ts',
    'if (isHandOver(waiting)) this.#hurry.abort()',
    '',
    channel(
      'a hint that hands a message to a worker waits two milliseconds at most for the one before, and takes others along',
    ),
  ],
  [
    'postgres: a search takes what its hint has just handed to another worker',
    'src/store/postgres/claim-due.ts',
    'AND c.wake_at <= ${now} - $11::bigint',
    'AND c.wake_at <= ${now} - 0 * $11::bigint',
    ends('what has not been due for as long as is asked for is left'),
  ],
  [
    'what was just handed to another worker is not looked for again',
    'src/engine/lease/work-search.ts',
    'if (monotonic(this.#node.clock) - this.#otherNamedAt < laterMs / 2) this.#lookLater()',
    '',
    search('for what another process was named leaves alone what is new, and looks for it once more'),
  ],
  [
    'the end of a log is added to what is known of another',
    'src/store/working-sets.ts',
    'seq === known.state.lastSeq && at === known.lastAt',
    'seq === known.state.lastSeq',
    sets('the end of a log that does not join what is known is left aside'),
  ],
  [
    'the events of a claim count as the end though one is missing',
    'src/store/claim-due.ts',
    'events.length > 0 && events.every(({ seq }, place) => seq === before + 1 + place)',
    'events.length > 0',
    ends('an event that is large is not brought, nor is a log without it'),
  ],
  [
    'what grew while it was claimed is worked on as the claim saw it',
    'src/engine/lease/worker.ts',
    'this.take(ref, agent, { ...granted, known: null }, hintedSeq)',
    'this.take(ref, agent, { ...granted, known: null })',
    claimed('what is said while a claim is under way is read before the model is asked (postgres)'),
  ],
  [
    'what a claim under way may have missed is forgotten',
    'src/engine/lease/work-search.ts',
    '?? (this.#heard.size < mostNamed ? 0 : lastSeq + 1)',
    '?? 0',
    search('tells what was heard of a conversation while it was claimed, because the claim may have seen less'),
  ],
  [
    'postgres: what is to be left alone is taken',
    'src/store/postgres/claim-due.ts',
    'AND NOT ${isLeftAlone}',
    '',
    postgres(named),
  ],
  [
    'postgres: named conversations are taken though they are held',
    'src/store/postgres/claim-due.ts',
    'AND (c.epoch IS NULL OR c.leased_until <= ${nowMs} AND ${isSuspect} IS NOT TRUE) AND ${mayTake}',
    'AND ${mayTake}',
    postgres(named),
  ],
  [
    'memory: suspects are not counted down',
    'src/store/claim-due.ts',
    "if (row.lapses > 0 || row.type === 'quarantined') this.#suspects -= 1",
    '',
    memory(lapses),
  ],
  [
    'a worker that left is still named',
    'src/store/postgres/takers.ts',
    'if (agents === null) this.#workers.delete(worker)',
    'if (agents === null) return',
    takers('conversations spread evenly over the workers, and each stays with its own'),
  ],
  [
    'a worker is named for agents it does not have',
    'src/store/postgres/takers.ts',
    "if (agent !== null && worker.agents !== 'any' && !worker.agents.has(agent)) continue",
    '',
    takers(
      'a worker without the agent is not chosen, and where the agent is not known only workers that are alike are',
    ),
  ],
  [
    'what an owner commits makes workers look',
    'src/store/postgres/postgres-store.ts',
    'if (isOwners || outcome.epoch !== undefined) return { taker: null }',
    '',
    hints(
      'a worker that announced itself is named for its agents until it leaves, and what an owner commits names none',
    ),
  ],
]

/** Bugs in how due work is claimed in batches and handed to one worker. */
export const claimMutants: readonly Mutant[] = planted.map(([name, file, find, replace, killedBy]) => ({
  name: `claims: ${name}`,
  edits: [{ file, find, replace }],
  killedBy: [killedBy],
}))
