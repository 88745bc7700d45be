import type { Case, Mutant } from './mutant.ts'

const tool = (test: string): Case => ({ file: 'src/react/client-tools.test.ts', test })
const conversation = (test: string): Case => ({ file: 'src/react/conversation-store.test.ts', test })
const link = (test: string): Case => ({ file: 'src/react/link.test.ts', test })
const list = (test: string): Case => ({ file: 'src/react/list-store.test.ts', test })
const store = (test: string): Case => ({ file: 'src/react/live-store.test.ts', test })

/** Bugs in the hooks for React. */
export const reactMutants: readonly Mutant[] = [
  {
    name: 'every event makes new objects of all messages',
    edits: [
      {
        file: 'src/react/keep-identity.ts',
        find: 'const kept = next.map((item) => keepIdentity(known.get(keyOf(item)), item))',
        replace: 'const kept = next.map((item) => (known.has(keyOf(item)) ? item : keepIdentity(null, item)))',
      },
    ],
    killedBy: [conversation('a snapshot after a lost connection makes no new objects of what is the same')],
  },
  {
    name: 'a component that shows drafts apart renders for text',
    edits: [
      {
        file: 'src/react/conversation-store.ts',
        find: 'const view = hasSameDrafts(was.view.drafts, is.view.drafts) ?',
        replace: 'const view = hasSameDrafts(was.view.drafts, is.view.drafts) && was.view === is.view ?',
      },
    ],
    killedBy: [conversation('an event makes new objects of what it changed, and text of nothing but its draft')],
  },
  {
    name: 'a message that is sent again has another key',
    edits: [
      {
        file: 'src/react/conversation-verbs.ts',
        find: 'handle.send(message, { ...options, key })',
        replace: 'handle.send(message, { ...options, key: options?.key ?? newKey() })',
      },
    ],
    killedBy: [
      conversation(
        'a message is on its way until it is recorded and shown; a lost acknowledgement is asked for with the same key',
      ),
    ],
  },
  {
    name: 'older messages are shown before a gap',
    edits: [
      {
        file: 'src/react/conversation-store.ts',
        find: 'this.#older = before.messages.length === 0 ? this.#older : null',
        replace: 'this.#older = { ...this.#older }',
      },
    ],
    killedBy: [conversation('older messages stay in front of those of the view, also when the view drops its first')],
  },
  {
    name: 'a hidden tab keeps its streams',
    edits: [
      {
        file: 'src/react/live-store.ts',
        find: 'const shouldRun = this.#leaveTab !== null && this.#tab.isVisible',
        replace: 'const shouldRun = this.#leaveTab !== null && (this.#tab.isVisible || this.#stop !== null)',
      },
    ],
    killedBy: [store('a store stops while its tab is hidden or left, and runs again when it is shown')],
  },
  {
    name: 'a change of pages opens a second stream',
    edits: [{ file: 'src/react/live-store.ts', find: 'const lingerMs = 1_000', replace: 'const lingerMs = 0' }],
    killedBy: [store('a store runs once for all readers, and for a second after the last')],
  },
  {
    name: 'a connection that is opened for one more conversation begins the others anew',
    edits: [
      {
        file: 'src/react/link.ts',
        find: 'followed.lastId = frame.id',
        replace: 'followed.lastId ??= null',
      },
    ],
    killedBy: [link('a conversation that comes later is added, and the others continue where they were')],
  },
  {
    name: 'a list that is shown while the feed is open is not read',
    edits: [
      {
        file: 'src/react/link.ts',
        find: "else if (this.#hasReset) listener.onChange({ type: 'reset' })",
        replace: "else if (!this.#hasReset) listener.onChange({ type: 'reset' })",
      },
    ],
    killedBy: [link('a listener is told to read everything first, also when the feed is there already')],
  },
  {
    name: 'an older answer takes back a change that came while it was read',
    edits: [
      { file: 'src/react/list-store.ts', find: "applied === 'read' || this.#isReading", replace: "applied === 'read'" },
    ],
    killedBy: [list('a change that comes while the list is read is not lost to an older answer')],
  },
  {
    name: 'an item that was answered on this page counts as answered by others',
    edits: [
      {
        file: 'src/react/inbox-store.ts',
        find: 'if (this.#own.delete(inboxKey(item))) return',
        replace: 'this.#own.delete(inboxKey(item))',
      },
    ],
    killedBy: [list('an item that others answered leaves the inbox, and is in left with who and what')],
  },
  {
    name: 'a client tool runs again after a reload though its result is there',
    edits: [
      {
        file: 'src/react/client-tools.ts',
        find: 'readSaved(name) ?? {',
        replace: '(name === "" ? readSaved(name) : null) ?? {',
      },
    ],
    killedBy: [tool('a result that a reload left behind is sent, and the function does not run again')],
  },
  {
    name: 'a client tool runs for every view that shows its call',
    edits: [
      {
        file: 'src/react/client-tools.ts',
        find: '!Object.hasOwn(tools, item.tool) || this.#running.has(name)',
        replace: '!Object.hasOwn(tools, item.tool)',
      },
    ],
    killedBy: [tool('a call runs once, however often it is seen, and its result is the answer')],
  },
]
