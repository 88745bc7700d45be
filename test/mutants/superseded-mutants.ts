import type { Case, Mutant } from './mutant.ts'

const story = (test: string): Case => ({ file: 'test/stories/turns-replaced.test.ts', test })
const described = (test: string): Case => ({ file: 'test/stories/tools-described.test.ts', test })
const unit = (test: string) => ({ file: 'src/log/superseded.test.ts', test })
const ofMemory = (test: string) => ({ file: 'src/store/memory/memory-store.test.ts', test })
const ofSqlite = (test: string) => ({ file: 'src/store/sqlite/sqlite-store.test.ts', test })
const ofPostgres = (test: string) => ({ file: 'src/store/postgres/postgres-store.test.ts', test })

/** Bugs in how turns are replaced, and in what stays of them. */
export const supersededMutants: readonly Mutant[] = [
  {
    name: 'superseding: what later turns did is withdrawn without being asked about',
    edits: [
      {
        file: 'src/runtime/replace-turn.ts',
        find: 'state.turns.slice(state.turns.indexOf(turn))',
        replace: '[turn]',
      },
    ],
    killedBy: [
      {
        file: 'test/stories/turns-replaced.test.ts',
        test: 'is refused when a later turn, which it would withdraw too, may have had an effect',
      },
    ],
  },
  {
    name: 'superseding: a call that was denied counts as done before',
    edits: [
      {
        file: 'src/log/superseded.ts',
        find: 'earlier.name === call.name && hasActed(earlier) && isSameJson',
        replace: 'earlier.name === call.name && isSameJson',
      },
    ],
    killedBy: [story('does not say that a call was done before which was denied')],
  },
  {
    name: 'a turn whose refund ran is tried again without force',
    edits: [
      {
        file: 'src/runtime/replace-turn.ts',
        find: 'if (acted.length > 0 && !force)',
        replace: 'if (acted.length > 1 && !force)',
      },
    ],
    killedBy: [
      story('is refused past a call that may have had an effect, unless it is forced; then the model is told'),
    ],
  },
  {
    name: 'what an earlier variant did is forgotten by the next one',
    edits: [
      {
        file: 'src/log/superseded.ts',
        find: 'turns.flatMap((turn) => [...(turn.replaced?.calls ?? []), ...actedIn(turn)])',
        replace: 'turns.flatMap((turn) => actedIn(turn))',
      },
    ],
    killedBy: [unit('of a second variant counts it, and keeps what all variants before it did')],
  },
  {
    name: 'the prompt does not list what withdrawn turns did',
    edits: [
      {
        file: 'src/prompt/render/render-turn.ts',
        find: "if (text !== '') addUser([{ type: 'text', text }])",
        replace: "if (text !== '' && turn.end) addUser([{ type: 'text', text }])",
      },
    ],
    killedBy: [
      {
        file: 'src/prompt/render/render-turn.test.ts',
        test: 'has no word of the withdrawn turn, and lists what its calls did before the new message',
      },
    ],
  },
  {
    name: 'a message replaces a turn while another is open',
    edits: [
      {
        file: 'src/runtime/replace-turn.ts',
        find: "if (busy) throw new BusyError(id, busy.turnId, 'replace')",
        replace: "if (busy && busy.turnId === turnId) throw new BusyError(id, busy.turnId, 'replace')",
      },
    ],
    killedBy: [
      story(
        'is refused while a turn is open, for a turn that was replaced or never was, and with options that do not fit',
      ),
    ],
  },
  {
    name: 'the key of a message is good for replacing another turn',
    edits: [
      {
        file: 'src/runtime/send-message.ts',
        find: 'const asked = { output: output && toJsonSchema(output), untilTool, maxSteps, maxTokens, data, replaces }',
        replace:
          'const asked = { output: output && toJsonSchema(output), untilTool, maxSteps, maxTokens, data, replaces: null }',
      },
    ],
    killedBy: [story('with a key happens once, and the key is not good for replacing another turn')],
  },
  {
    name: 'a second variant has a place of its own',
    edits: [
      {
        file: 'src/log/superseded.ts',
        find: 'return replaced?.fromSeq ?? firstSeq',
        replace: 'return firstSeq || (replaced?.fromSeq ?? 0)',
      },
    ],
    killedBy: [
      story('is one commit, on the log that it was decided on, and a second variant keeps the place of the first'),
    ],
  },
  {
    name: 'a retry acts for the person whose turn it was',
    edits: [
      {
        file: 'src/runtime/send-verbs.ts',
        find: '{ turnId, message, options: turn.options, who, ...added, ...trace }',
        replace: '{ turnId, message, options: turn.options, who: item.who, ...added, ...trace }',
      },
    ],
    killedBy: [story('has the messages, the options and the data of the turn, and acts for the caller')],
  },
  {
    name: 'memory: a summary that ends where the withdrawn turns begin stays',
    edits: [
      {
        file: 'src/store/memory/commit-change.ts',
        find: 'if (toSeq >= fromSeq) summaries.delete(toSeq)',
        replace: 'if (toSeq > fromSeq) summaries.delete(toSeq)',
      },
    ],
    killedBy: [
      ofMemory('a summary that ends where the withdrawn turns begin is deleted, and one that ends before stays'),
    ],
  },
  {
    name: 'sqlite: the summaries of withdrawn turns stay',
    edits: [
      {
        file: 'src/store/sqlite/commit-change.ts',
        find: 'WHERE cid = ? AND to_seq >= ?',
        replace: 'WHERE cid = ? AND to_seq > ? + 1000',
      },
    ],
    killedBy: [ofSqlite('the commit deletes the summaries that reach there, and revival reads from the one before')],
  },
  {
    name: 'postgres: a key that is sent again deletes newer summaries',
    edits: [
      {
        file: 'src/store/postgres/commit-change.ts',
        find: "outcome.type === 'ok' && outcome.at !== undefined) {\n      await query(deleteSummaries",
        replace: "outcome.type === 'ok') {\n      await query(deleteSummaries",
      },
    ],
    killedBy: [ofPostgres('a key that is sent again deletes no summary that was put since')],
  },
  {
    name: 'sqlite: a summary that was planned before the withdrawal is put',
    edits: [
      {
        file: 'src/store/sqlite/records.ts',
        find: 'if (superseded) return { supersededAt: superseded.seq }',
        replace: 'if (superseded && superseded.seq < 0) return { supersededAt: superseded.seq }',
      },
    ],
    killedBy: [ofSqlite('a summary that was planned before the withdrawal is refused, whatever it covers')],
  },
  {
    name: 'a withdrawal is committed without the message that takes the place',
    edits: [
      {
        file: 'src/store/change.ts',
        find: "return event?.type === 'user_msg' && event.content.turnId === turnId",
        replace: "return event?.type === 'user_msg' || turnId === ''",
      },
    ],
    killedBy: [
      ofMemory('a withdrawal without its message, without the log it was decided on, or past its end is refused'),
    ],
  },
  {
    name: 'a page of history counts withdrawn turns',
    edits: [
      {
        file: 'src/runtime/read/history-pages.ts',
        find: 'else if (!isInside) shown.push(event)',
        replace: 'else if (!isInside || event.seq === hole.from) shown.push(event)',
      },
    ],
    killedBy: [
      story('counts shown turns, leaves withdrawn ones out, keeps notes, and says how many variants there are'),
    ],
  },
  {
    name: 'a history loses the end of a turn that went on while a replaced one was queued',
    edits: [
      {
        file: 'src/runtime/read/history-pages.ts',
        find: 'if (open.length === 0) continue',
        replace: 'if (open.length < 2) continue',
      },
    ],
    killedBy: [story('keeps a turn whole that went on while a replaced one was queued')],
  },
  {
    name: 'a process goes on with a log from which turns were withdrawn under a summary',
    edits: [
      {
        file: 'src/store/working-sets.ts',
        find: 'return caught && hasReplaced(caught.state, state) ? null : caught',
        replace: 'return caught && hasReplaced(state, caught.state) ? null : caught',
      },
    ],
    killedBy: [
      {
        file: 'test/stories/turns-replaced-upkeep.test.ts',
        test: 'take the summaries of what they said with them, and the prompt is whole again',
      },
    ],
  },
  {
    name: 'an approval that comes again does not say that the same was done',
    edits: [
      {
        file: 'src/log/superseded.ts',
        find: 'earlier.name === call.name && hasActed(earlier)',
        replace: 'earlier.name === call.name && !hasActed(earlier)',
      },
    ],
    killedBy: [story('asks again for an approval, and says that the same was done in the earlier variant')],
  },
  {
    name: 'a page that edits under an old id is told that the key was used',
    edits: [
      {
        file: 'src/server/ui/replaced-message.ts',
        find: "if (trigger === 'submit-message' && messageId !== last.id) return { type: 'send' }",
        replace: "if (trigger === 'submit-message') return { type: 'send' }",
      },
    ],
    killedBy: [
      {
        file: 'test/server/ui-chat.test.ts',
        test: 'an edited message takes the place of the first and of all after it; the same again changes nothing',
      },
    ],
  },
  {
    name: 'superseding: the row of a call does not say that the same was done before',
    edits: [{ file: 'src/log/next-step.ts', find: '...(before ? { doneBefore: before } : {}),', replace: '' }],
    killedBy: [story('asks again for an approval, and says that the same was done in the earlier variant')],
  },
  {
    name: 'the row of a call does not say what the call will do',
    edits: [
      {
        file: 'src/store/change.ts',
        find: 'kind, prompt, expiresInMs, notice }',
        replace: 'kind, prompt, expiresInMs }',
      },
    ],
    killedBy: [described('stands beside a prompt of the tool that is a text, also for those who are told elsewhere')],
  },
  {
    name: 'doctor: a row that does not say what its call will do passes',
    edits: [
      {
        file: 'src/upkeep/expected-calls.ts',
        find: 'tracked.notice = encodeNotice(noticeOf(call, event.content))',
        replace: 'tracked.notice = null',
      },
    ],
    killedBy: [
      described('stands beside a prompt of the tool that is an object, also for those who are told elsewhere'),
    ],
  },
  {
    name: 'fork: a call in an earlier round tells nothing',
    edits: [
      {
        file: 'src/store/plan-fork.ts',
        find: 'notice: encodeNotice(noticeOf(call, round)),',
        replace: 'notice: null,',
      },
    ],
    killedBy: [
      {
        file: 'src/store/memory/memory-store.test.ts',
        test: 'a call in an earlier round tells what the log tells of it',
      },
    ],
  },
]
