/** Puts a checkpoint, and its writes, and says what was acknowledged; then waits to be killed. `again`: repeats both, as after a lost acknowledgement. */
import { uuid6 } from '@langchain/langgraph-checkpoint'
import { PerdureSaver } from 'perdure/langgraph'
import { postgresStore } from 'perdure/postgres'
import { sqliteStore } from 'perdure/sqlite'

const [kind, where, last] = process.argv.slice(2)
const options = JSON.parse(where)
const saver = new PerdureSaver({ store: kind === 'sqlite' ? sqliteStore(options) : postgresStore(options) })
const checkpoint = {
  v: 4,
  id: uuid6(0),
  ts: new Date().toISOString(),
  channel_values: { list: ['a', 'b'] },
  channel_versions: { list: 1 },
  versions_seen: {},
}
const times = last === 'again' ? 2 : 1
for (let time = 0; time < times; time++) {
  const config = await saver.put(
    { configurable: { thread_id: last, checkpoint_ns: '' } },
    checkpoint,
    { source: 'loop', step: 0, parents: {} },
    { list: 1 },
  )
  if (last !== 'put') await saver.putWrites(config, [['list', 'c']], 'task')
}
process.send({ checkpoint: checkpoint.id })
setInterval(() => {}, 1_000)
