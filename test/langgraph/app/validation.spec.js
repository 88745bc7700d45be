import { validate } from '@langchain/langgraph-checkpoint-validation'
import { PerdureSaver } from 'perdure/langgraph'
import { stores } from './stores.js'

for (const [name, open] of Object.entries(stores)) {
  const opened = new Map()
  validate({
    checkpointerName: `PerdureSaver (${name})`,
    createCheckpointer() {
      const { store } = open()
      const saver = new PerdureSaver({ store })
      opened.set(saver, store)
      return saver
    },
    async destroyCheckpointer(saver) {
      await opened.get(saver).close()
      opened.delete(saver)
    },
  })
}
