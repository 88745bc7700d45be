/**
 * A store of your own, durable in one file: the driver writes every change to a journal before it applies it in memory, and replays the
 * journal when it is opened. One process at a time, all data in memory; but it passes the conformance suite of `perdure/testing`.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { open, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createRuntime, defineAgent, type Store } from 'perdure'
import { createStore, type Driver, memoryDriver, StoreError } from 'perdure/store'
import { scriptedModel } from 'perdure/testing'

type Entry = { readonly at: number; readonly id: string; readonly method: Write; readonly args: readonly unknown[] }
type Write = (typeof writes)[number]
const writes = [
  ...(['commit', 'fork', 'deleteConversation', 'deleteTenant', 'putSummary'] as const),
  ...(['claimLease', 'releaseLease', 'renewLeases', 'takeBackLapse', 'unquarantine'] as const),
  ...(['putModelCall', 'gcModelCalls', 'putBlob', 'putSnapshot'] as const),
]
// Optional, and would change something without an entry of the journal.
const notJournaled = ['claimDue', 'outbox', 'jobs', 'accounts', 'nodes', 'steering'] as const

export const journalStore = async (path: string): Promise<Store> => createStore(await journalDriver(path))

async function journalDriver(path: string): Promise<Driver> {
  // A replay uses the recorded time and ids of each entry.
  let playing: Entry | null = null
  let idsGiven = 0
  const newId = () => `${playing?.id}-${(idsGiven += 1)}`
  const memory = memoryDriver({ now: () => playing?.at ?? Date.now() }, newId)
  for (const name of notJournaled) delete (memory as Partial<Driver>)[name]
  const play = (entry: Entry): Promise<unknown> => {
    playing = entry
    idsGiven = 0
    const method = memory[entry.method] as (...args: readonly unknown[]) => Promise<unknown>
    // The memory driver has done its work when it returns the promise.
    const result = method(...entry.args)
    playing = null
    return result
  }

  const file = await open(path, 'a+')
  const journal = await file.readFile('utf8')
  // A crash may have left half an entry at the end. It was never acknowledged.
  const whole = journal.slice(0, journal.lastIndexOf('\n') + 1)
  await truncate(path, Buffer.byteLength(whole))
  for (const line of whole.split('\n').slice(0, -1)) await play(fromLine(line))

  const append = async (entry: Entry): Promise<Entry> => {
    try {
      await file.appendFile(`${toLine(entry)}\n`)
      await file.datasync()
      return entry // Durable from here: a crash finds the change in the journal.
    } catch (cause) {
      throw new StoreError(`Cannot write to ${path}. Open it again.`, { cause, ambiguous: true })
    }
  }
  // One write at a time. After a failure the end of the file is unknown, so all later writes fail too.
  let last: Promise<unknown> = Promise.resolve()
  const write = (method: Write, args: readonly unknown[]): Promise<unknown> => {
    const appended = last.then(() => append({ at: Date.now(), id: crypto.randomUUID(), method, args }))
    last = appended
    return appended.then(play)
  }
  const journaled = writes.map((method) => [method, (...args: readonly unknown[]) => write(method, args)])
  const close = () => last.catch(() => {}).then(() => file.close())
  return { ...memory, ...(Object.fromEntries(journaled) as Pick<Driver, Write>), durable: true, close }
}

// Arguments are plain JSON, except the bytes of blobs.
function toLine({ args, ...entry }: Entry): string {
  const plain = args.map((arg) => (arg instanceof Uint8Array ? { base64: Buffer.from(arg).toString('base64') } : arg))
  return JSON.stringify({ ...entry, args: plain })
}

function fromLine(line: string): Entry {
  const { args, ...entry } = JSON.parse(line)
  return { ...entry, args: args.map((arg: unknown) => (isBytes(arg) ? Buffer.from(arg.base64, 'base64') : arg)) }
}

const isBytes = (arg: unknown): arg is { base64: string } => 'base64' in Object(arg)

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const path = join(mkdtempSync(join(tmpdir(), 'perdure-')), 'journal.jsonl')
  const model = scriptedModel(({ prompt }) => `That was message ${prompt.length}.`)
  const helper = defineAgent({ name: 'helper', model })
  for (const message of ['Hello', 'Do you remember me?']) {
    const store = await journalStore(path)
    const runtime = createRuntime({ agents: [helper], store })
    const outcome = await (await runtime.conversation('chat-1', { agent: 'helper' }).send(message)).outcome()
    assert(outcome.status === 'completed')
    console.log(`${message} -> ${outcome.text}`)
    await runtime.close()
    await store.close()
  }
  rmSync(join(path, '..'), { recursive: true })
}
