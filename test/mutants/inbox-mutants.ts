import type { Mutant } from './mutant.ts'

const hand = 'studio/inbox/safe-hand.ts'
const list = 'studio/inbox/steady-list.ts'
const values = 'studio/parts/schema-form/values.ts'
const fields = 'studio/parts/schema-form/fields.ts'

/** Bugs in what an inbox shows and answers: forms, rows under the hand, and what a key may answer. */
export const inboxMutants: readonly Mutant[] = [
  {
    name: 'inbox: a key answers what has only just appeared',
    edits: [{ file: hand, find: 'at - shown.since < lookMs', replace: 'at < shown.since' }],
    killedBy: [
      { file: 'studio/inbox/safe-hand.test.ts', test: 'an item is answered only after it was shown for 700 ms' },
    ],
  },
  {
    name: 'inbox: the rest of what was typed into a dialog answers',
    edits: [{ file: hand, find: 'at - dialogClosedAt < lookMs', replace: 'at < dialogClosedAt' }],
    killedBy: [
      { file: 'studio/inbox/safe-hand.test.ts', test: 'nothing is answered in the 700 ms after a dialog closed' },
    ],
  },
  {
    name: 'inbox: a reason for a denial is typed into the page',
    edits: [{ file: 'studio/inbox/deny-dialog.tsx', find: '          data-autofocus\n', replace: '' }],
    killedBy: [
      {
        file: 'test/studio/inbox-keys.test.ts',
        test: 'a reason of any letters and spaces, typed at once after D, denies',
      },
    ],
  },
  {
    name: 'conversations: a busy tenant keeps a filter from counting',
    edits: [{ file: 'studio/conversations/filter-bar.tsx', find: '  }, [typed])', replace: '  }, [typed, onChange])' }],
    killedBy: [
      {
        file: 'test/studio/lists.test.ts',
        test: 'a filter counts when typing pauses, also while the list changes all the time',
      },
    ],
  },
  {
    name: 'inbox: an item that changed is answered without another look',
    edits: [
      { file: hand, find: 'version, since: at, isChanged: true }', replace: 'version, since: at, isChanged: false }' },
    ],
    killedBy: [
      {
        file: 'studio/inbox/safe-hand.test.ts',
        test: 'an item that changes while it is shown asks again, however long that takes',
      },
    ],
  },
  {
    name: 'inbox: an answer goes to another version than the one it was meant for',
    edits: [
      {
        file: hand,
        find: '!shown || shown.version !== version || shown.isChanged',
        replace: '!shown || shown.isChanged',
      },
    ],
    killedBy: [
      {
        file: 'studio/inbox/safe-hand.test.ts',
        test: 'an answer that was meant for what is no longer shown is held back',
      },
    ],
  },
  {
    name: 'inbox: rows come under the pointer',
    edits: [{ file: list, find: 'if (isHeld && known.size > 0)', replace: 'if (isHeld && known.size < 0)' }],
    killedBy: [{ file: 'studio/inbox/steady-list.test.ts', test: 'no row comes or goes while the list is held' }],
  },
  {
    name: 'inbox: rows go under the pointer',
    edits: [
      { file: list, find: 'if (!isHeld && !stays(row.key)) return []', replace: 'if (!stays(row.key)) return []' },
    ],
    killedBy: [{ file: 'studio/inbox/steady-list.test.ts', test: 'no row comes or goes while the list is held' }],
  },
  {
    name: 'form: a number that cannot be kept is rounded',
    edits: [{ file: values, find: ' || digitsOf(typed) !== digitsOf(numberText(value))', replace: '' }],
    killedBy: [
      {
        file: 'studio/parts/schema-form/values.test.ts',
        test: '9007199254740993 is refused and not rounded',
      },
    ],
  },
  {
    name: 'form: a schema that contains itself is followed',
    edits: [{ file: fields, find: 'if (refs.includes(ref))', replace: 'if (refs.length > 5)' }],
    killedBy: [
      {
        file: 'studio/parts/schema-form/fields.test.ts',
        test: 'follows a reference, and stops where a schema contains itself',
      },
    ],
  },
  {
    name: 'inbox: a large schema comes with every item',
    edits: [{ file: 'src/runtime/read/lists.ts', find: 'size > mostCharacters ? null : schema', replace: 'schema' }],
    killedBy: [
      {
        file: 'src/runtime/read/args-schema.test.ts',
        test: 'an approval in the inbox has the schema of its arguments where this process has the tool',
      },
    ],
  },
  {
    name: 'inbox: a row does not know for whom it is (SQLite)',
    edits: [{ file: 'src/store/sqlite/events.ts', find: 'conversations.owner, ${', replace: 'NULL AS owner, ${' }],
    killedBy: [
      {
        file: 'src/store/sqlite/sqlite-store.test.ts',
        test: 'the pending calls of all conversations are listed, newest first, with agent, title and owner',
      },
    ],
  },
  {
    name: 'inbox: the person of a session is not shown',
    edits: [{ file: 'studio/inbox/item-side.tsx', find: '?.who ?? item.owner', replace: '?.who ?? null' }],
    killedBy: [
      { file: 'test/studio/inbox.test.ts', test: 'a row and its detail say for whom it is asked, also of a session' },
    ],
  },
]
