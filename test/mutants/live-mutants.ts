import type { Case, Mutant } from './mutant.ts'

const relay = (test: string): Case => ({ file: 'src/engine/live/live-relay.test.ts', test })
const sender = (test: string): Case => ({ file: 'src/engine/live/live-sender.test.ts', test })
const owners = (test: string): Case => ({ file: 'src/engine/live/owners-of-a-channel.test.ts', test })
const story = (test: string): Case => ({ file: 'test/stories/live-elsewhere.test.ts', test })
const postgres = (test: string): Case => ({ file: 'src/store/postgres/live-bus.test.ts', test })
const resumes = (test: string): Case => ({ file: 'test/live/text-across-nodes.test.ts', test })

const channelFile = 'src/engine/live/channel.ts'
const receiverFile = 'src/engine/live/live-receiver.ts'
const senderFile = 'src/engine/live/live-sender.ts'

export const liveMutants: readonly Mutant[] = [
  {
    name: 'live text: an owner that lost its lease is heard',
    edits: [
      {
        file: channelFile,
        find: 'if (epoch < this.#epoch) return false',
        replace: '',
      },
    ],
    killedBy: [owners('drops what an owner says after a later one began, and withdraws what it had written')],
  },
  {
    name: 'live text: a later owner leaves the draft of the one before it',
    edits: [
      { file: channelFile, find: 'if (epoch > this.#epoch) {', replace: 'this.#epoch = epoch\n    if (false) {' },
    ],
    killedBy: [owners('drops what an owner says after a later one began, and withdraws what it had written')],
  },
  {
    name: 'live text: a gap is not noticed',
    edits: [{ file: receiverFile, find: 'if (at > known) return this.#askAgain()', replace: '' }],
    killedBy: [relay('whatever is lost, the text is whole once something arrives again, and never has a piece twice')],
  },
  {
    name: 'live text: what is known is added again',
    edits: [{ file: receiverFile, find: 'text.slice(known - at)', replace: 'text' }],
    killedBy: [relay('a bus that was away brings the whole when it is back')],
  },
  {
    name: 'live text: shown before its place in the log',
    edits: [{ file: receiverFile, find: 'this.#waiting[0]!.item.seq <= known', replace: 'known >= -1' }],
    killedBy: [relay('text that comes before its place in the log waits for it')],
  },
  {
    name: 'live text: announcements do not expire',
    edits: [{ file: senderFile, find: 'if (watcher.until <= this.#parts.now()) return []', replace: '' }],
    killedBy: [sender('a node that does not announce again is told nothing after a while')],
  },
  {
    name: 'live text: announcements without a bound',
    edits: [{ file: senderFile, find: 'known.nodes.size >= mostNodes', replace: 'false' }],
    killedBy: [sender('announcements are kept up to a bound, for one conversation and for all')],
  },
  {
    name: 'live text: the first view is shown without what another node writes',
    edits: [
      {
        file: receiverFile,
        find: 'if (!this.#isWanted || this.#wholeOf !== null) return',
        replace: 'if (this) return',
      },
    ],
    killedBy: [story('is in the first view of a reader who comes in mid-message, and goes on from there')],
  },
  {
    name: 'live text: a secret is not used',
    edits: [{ file: 'src/engine/node.ts', find: 'signer.isTemporary ? noSeal :', replace: 'signer ? noSeal :' }],
    killedBy: [story('what nodes with a secret send cannot be read without it')],
  },
  {
    name: 'live text: equal notifications',
    edits: [{ file: 'src/store/postgres/live-bus.ts', find: 'this.#sent += 1', replace: 'this.#sent = 1' }],
    killedBy: [postgres('texts arrive whole and in order at the node they are for, or at all others (postgres)')],
  },
  {
    name: 'live text: a client that is ahead of its new node loses text',
    edits: [{ file: 'src/server/live/feed.ts', find: 'await this.#written(from.draft)', replace: '{}' }],
    killedBy: [
      resumes(
        'a reader who goes to another node in mid-message, again and again, never sees text vanish or come twice (postgres)',
      ),
    ],
  },
]
