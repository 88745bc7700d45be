/**
 * One subject in a process of its own: `node subject.js <module> <kind> <folder> [url] [url to warm up]`, started with `fork`. It answers one command at a time: turns of a
 * conversation, many conversations at once, an approval that is asked or given. The parent lets the subjects take turns.
 */
import { mkdirSync } from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'

const [module, kind, folder, url, asideUrl] = process.argv.slice(2)
const connections = watchConnections()
const { open, isOnlyOne = false } = await import(`./subjects/${module}.js`)
const subject = await open(kind, { folder, url })
const openedMs = performance.now()
/** Where the process warms up: files or a database of its own, so that its bytes do not count as those of the conversation. */
let aside = null

const verbs = {
  /** Milliseconds of each. `fresh`: each turn is the first of a new conversation. */
  async turns({ id, count, fresh = false, isAside = false }) {
    const subject = await at(isAside)
    const times = []
    for (let n = 0; n < count; n++) {
      const start = performance.now()
      await subject.turn(fresh ? `${id}-${n}` : id)
      times.push(performance.now() - start)
    }
    return times
  },
  /** Turns a second. */
  async rate({ id, lanes, perLane }) {
    const subject = await at(true)
    const start = performance.now()
    const lane = async (n) => {
      for (let turn = 0; turn < perLane; turn++) await subject.turn(`${id}-${n}`)
    }
    await Promise.all(Array.from({ length: lanes }, (_, n) => lane(n)))
    return (lanes * perLane * 1000) / (performance.now() - start)
  },
  ask: ({ id }) => subject.ask(id),
  /** `sinceStartMs`: since this process began. `refused`: why an answer was not taken, which is right for a second one. */
  async answer({ id, token }) {
    const start = performance.now()
    const refused = await subject.answer(id, token).then(
      () => null,
      (error) => String(error?.message ?? error),
    )
    return { ms: performance.now() - start, sinceStartMs: performance.now(), openedMs, refused }
  },
  settings: async () => (await subject.settings?.()) ?? ofConnections(),
  async close() {
    await subject.close()
    if (aside && aside !== subject) await aside.close()
    return null
  },
}

async function at(isAside) {
  if (!isAside) return subject
  const place = { folder: join(folder, 'aside'), url: asideUrl }
  mkdirSync(place.folder, { recursive: true })
  aside ??= isOnlyOne ? subject : await open(kind, place)
  return aside
}

process.on('message', async ({ verb, ...args }) => {
  try {
    const value = await verbs[verb](args)
    process.send({ value }, () => verb === 'close' && process.exit(0))
  } catch (error) {
    process.send({ error: String(error?.stack ?? error) })
  }
})
process.on('disconnect', () => process.exit(1))
process.send({ value: 'open' })

/** `synchronous` belongs to a connection, so it is read from those that the subject opened itself. */
function watchConnections() {
  const opened = []
  const sqlite = createRequire(import.meta.url)('node:sqlite')
  sqlite.DatabaseSync = class extends sqlite.DatabaseSync {
    constructor(...args) {
      super(...args)
      opened.push(this)
    }
  }
  syncBuiltinESMExports()
  return opened
}

function ofConnections() {
  const settings = {}
  for (const connection of connections.filter(({ isOpen }) => isOpen)) {
    for (const name of ['journal_mode', 'synchronous']) {
      const value = Object.values(connection.prepare(`PRAGMA ${name}`).get())[0]
      const known = settings[name]
      settings[name] = known === undefined || known === value ? value : `${known}, ${value}`
    }
  }
  return settings
}
