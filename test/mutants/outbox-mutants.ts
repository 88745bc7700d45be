import type { Case, Mutant } from './mutant.ts'

const memory = (test: string): Case => ({ file: 'src/store/memory/memory-store.test.ts', test })
const sqlite = (test: string): Case => ({ file: 'src/store/sqlite/sqlite-store.test.ts', test })
const postgres = (test: string): Case => ({ file: 'src/store/postgres/postgres-store.test.ts', test })

const story = (test: string): Case => ({ file: 'test/stories/subscribers.test.ts', test })
const lethal = (test: string): Case => ({ file: 'test/faults/subscribers.test.ts', test })
const pinned = (test: string): Case => ({ file: 'src/base/pinned-request.test.ts', test })

export const outboxMutants: readonly Mutant[] = [
  {
    name: 'subscribers: what has no text throws again when it is logged',
    edits: [
      {
        file: 'src/base/logger.ts',
        find: "  } catch {\n    return 'something that cannot be shown'",
        replace: '  } catch (error) {\n    throw error',
      },
    ],
    killedBy: [story('that throw what has no text are tried again, and have it listed')],
  },
  {
    name: 'subscribers: deliveries that hang keep their places',
    edits: [{ file: 'src/engine/outbox/deliveries.ts', find: 'line.isSlow = true', replace: 'line.isSlow = false' }],
    killedBy: [story('are told of other conversations while twenty hang, which is more than run side by side')],
  },
  {
    name: 'subscribers: a call that waits for a child agent is told',
    edits: [
      {
        file: 'src/engine/outbox/deliveries.ts',
        find: "return event.content.kind === 'sub_agent' ? [] : ['waiting']",
        replace: "return ['waiting']",
      },
    ],
    killedBy: [story('are not told of a call that waits for a child agent, but of what the child waits for')],
  },
  {
    name: 'subscribers: withheld words are told',
    edits: [
      {
        file: 'src/engine/outbox/deliveries.ts',
        find: '[...hideWithheld(read)].find',
        replace: '[...read].find',
      },
    ],
    killedBy: [story('get no words of a message that no hook has passed')],
  },
  {
    name: 'subscribers: what is told is not frozen',
    edits: [{ file: 'src/engine/outbox/deliveries.ts', find: '  deepFreeze(whole)\n', replace: '' }],
    killedBy: [story('get what they cannot change')],
  },
  {
    name: 'subscribers: what failed is listed with its secrets',
    edits: [
      {
        file: 'src/engine/outbox/deliveries.ts',
        find: 'this.#node.redact(errorText(error))',
        replace: 'errorText(error)',
      },
    ],
    killedBy: [story('have no secrets in what is listed of a failure')],
  },
  {
    name: 'subscribers: a store that is away counts as an attempt',
    edits: [
      {
        file: 'src/engine/outbox/deliveries.ts',
        find: '|| !error.retryable) throw error',
        replace: '|| error.code) throw error',
      },
    ],
    killedBy: [story('have an attempt left when the log could not be read')],
  },
  {
    name: 'subscribers: a delivery is given up one attempt too early',
    edits: [
      {
        file: 'src/engine/outbox/deliveries.ts',
        find: 'if (tries < retry.maxAttempts) {',
        replace: 'if (tries + 1 < retry.maxAttempts) {',
      },
    ],
    killedBy: [
      story('have what failed listed after the last attempt, the next follows, and a person has it tried again'),
    ],
  },
  {
    name: 'subscribers: closing counts as an attempt',
    edits: [
      {
        file: 'src/engine/outbox/deliveries.ts',
        find: "{ type: 'again', inMs: 0, tries }",
        replace: "{ type: 'again', inMs: 0, tries: tries + 1 }",
      },
    ],
    killedBy: [story('are put back by a node that closes, and the attempt does not count')],
  },
  {
    name: 'subscribers: a delivery that ended its process is tried for ever',
    edits: [
      {
        file: 'src/store/sqlite/outbox.ts',
        find: 'l.tries + ${lapsed ? 1 : 0} AS tries',
        replace: 'l.tries AS tries',
      },
    ],
    killedBy: [
      sqlite('a claim that is not settled in time counts as a try and is due again, and its holder has lost it'),
    ],
  },
  {
    name: 'subscribers: what was told beside a delivery that ended its process is given up with it',
    edits: [
      {
        file: 'src/engine/outbox/deliveries.ts',
        find: 'await this.#claim([name], 1, true)',
        replace: 'await this.#claim([name], 8, true)',
      },
    ],
    killedBy: [
      lethal('a delivery that ends its process each time is given up, and the rest of its line follows (sqlite)'),
    ],
  },
  {
    name: 'webhooks: a secret that is not base64 is an empty key',
    edits: [
      {
        file: 'src/define/webhook.ts',
        find: 'keyOf(secret).length >= minKeyBytes',
        replace: 'keyOf(secret).length >= 0',
      },
    ],
    killedBy: [
      {
        file: 'src/define/webhook.test.ts',
        test: 'a secret with the prefix whose key is short, or not base64, is refused',
      },
    ],
  },
  {
    name: 'webhooks: only the first address of a name is checked',
    edits: [
      {
        file: 'src/base/pinned-request.ts',
        find: 'found.find(({ address }) => isPrivateAddress(address))',
        replace: 'found.slice(0, 1).find(({ address }) => isPrivateAddress(address))',
      },
    ],
    killedBy: [pinned('a name with a private address among others is refused before anything is sent')],
  },
  {
    name: 'webhooks: an answer is read as long as it goes on',
    edits: [{ file: 'src/base/pinned-request.ts', find: 'if (size >= maxBytes) break', replace: 'void size' }],
    killedBy: [pinned('an answer that does not end is read up to the limit, and let go of')],
  },
  {
    name: 'webhooks: an IPv4 address inside an IPv6 address is not looked at',
    edits: [
      {
        file: 'src/base/pinned-request.ts',
        find: "inner !== null && privateRanges.check(inner, 'ipv4')",
        replace: "inner !== null && inner === '127.0.0.2'",
      },
    ],
    killedBy: [pinned('::ffff:127.0.0.1 is one')],
  },
  {
    name: 'memory outbox: a commit known by its key is recorded again',
    edits: [
      {
        file: 'src/store/memory/memory-store.ts',
        find: "outcome.type === 'ok' && outcome.at !== undefined",
        replace: "outcome.type === 'ok'",
      },
      {
        file: 'src/store/memory/memory-store.ts',
        find: 'lastSeq: outcome.seq, types, at: outcome.at }',
        replace: 'lastSeq: outcome.seq, types, at: outcome.at ?? clock.now() }',
      },
    ],
    killedBy: [memory('a commit that is refused or repeated records nothing')],
  },
  {
    name: 'memory outbox: a subscriber that stopped is recorded for',
    edits: [
      {
        file: 'src/store/memory/outbox.ts',
        find: '      if (stoppedSince(subscriber.claimedAt, at) !== null) continue\n',
        replace: '',
      },
    ],
    killedBy: [memory('a subscriber that no node claims for 7 days stops, and begins again when one does')],
  },
  {
    name: 'memory outbox: a retry interrupts the delivery that is under way',
    edits: [
      {
        file: 'src/store/memory/outbox.ts',
        find: 'if (line.token === null) Object.assign(line, { dueAt: now, tries: 0 })',
        replace: 'Object.assign(line, { dueAt: now, tries: 0 })',
      },
    ],
    killedBy: [memory('what failed is tried again by hand, or forgotten')],
  },
  {
    name: 'sqlite outbox: a fork is recorded',
    edits: [
      {
        file: 'src/store/sqlite/fork-and-delete.ts',
        find: '  forgetOutbox(db, cid)\n',
        replace: '',
      },
    ],
    killedBy: [sqlite('forks and restored conversations record nothing')],
  },
  {
    name: 'sqlite outbox: a deletion leaves what failed',
    edits: [
      {
        file: 'src/store/sqlite/outbox.ts',
        find: "['outbox', 'outbox_lines', 'outbox_failed']",
        replace: "['outbox', 'outbox_lines']",
      },
    ],
    killedBy: [
      sqlite('deleting a conversation, its children or its tenant deletes their rows'),
      sqlite('a subscriber that is removed leaves nothing behind'),
    ],
  },
  {
    name: 'sqlite outbox: a delivery is settled without its token',
    edits: [
      {
        file: 'src/store/sqlite/outbox.ts',
        find: 'AND l.subscriber = ? AND l.token = ?`',
        replace: 'AND l.subscriber = ? AND l.token <= ? + 1000`',
      },
    ],
    killedBy: [
      sqlite('a claim that is not settled in time counts as a try and is due again, and its holder has lost it'),
    ],
  },
  {
    name: 'postgres outbox: a line is not locked by the commit that adds to it',
    edits: [
      {
        file: 'src/store/postgres/outbox-tables.ts',
        find: 'DO UPDATE SET due_at = l.due_at;',
        replace: 'DO NOTHING;',
      },
    ],
    killedBy: [
      {
        file: 'src/store/postgres/outbox.test.ts',
        test: 'a line whose last delivery ends while a commit adds to it keeps what the commit adds',
      },
    ],
  },
  {
    name: 'postgres outbox: a restored conversation is recorded',
    edits: [
      {
        file: 'src/store/postgres/upkeep/restore.ts',
        find: 'RETURNING ${writeNoOutbox}',
        replace: 'RETURNING 1',
      },
    ],
    killedBy: [postgres('forks and restored conversations record nothing')],
  },
  {
    name: 'postgres outbox: attributes are set after the events, so the agent of a new conversation is unknown',
    edits: [
      {
        file: 'src/store/postgres/outbox-tables.ts',
        find: '(s.agent IS NULL OR s.agent = c.agent)',
        replace: '(s.agent IS NULL OR (s.agent = c.agent AND a.seq > 1))',
      },
    ],
    killedBy: [postgres('each subscriber gets its own types, and those of its agent alone')],
  },
  {
    name: 'subscribers: what a snapshot restored is told',
    edits: [
      {
        file: 'src/engine/outbox/deliveries.ts',
        find: "return mark?.type === 'restored' && seq <= mark.content.through",
        replace: 'return false',
      },
    ],
    killedBy: [
      {
        file: 'src/engine/outbox/subscriber-event.test.ts',
        test: 'of what a snapshot restored only that it waits is told, and then everything',
      },
    ],
  },
  {
    name: 'subscribers: a node closes before its claim is answered',
    edits: [
      {
        file: 'src/engine/outbox/deliveries.ts',
        find: 'await withTimeout(this.#looked, claimMs, this.#node.clock, () => {})',
        replace: '',
      },
    ],
    killedBy: [
      {
        file: 'test/stories/subscribers.test.ts',
        test: 'a delivery that a closing node is still claiming is put back before it has closed',
      },
    ],
  },
]
