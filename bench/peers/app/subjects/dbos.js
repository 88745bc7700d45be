/**
 * DBOS has workflows and steps, and no conversations. A turn is a workflow of three steps: the model's call, the tool, and the model's answer, which is saved with
 * the turn's messages in a table of the application. The model gets all messages, as elsewhere.
 */
import { randomUUID } from 'node:crypto'
import { DBOS } from '@dbos-inc/dbos-sdk'
import pg from 'pg'
import { answer as answerText, callAfter, look, pay, payment, question } from '../script.js'

/** There is one DBOS in a process. */
export const isOnlyOne = true
const polling = { pollingIntervalMs: 5 }

export async function open(_kind, { url, folder }) {
  const pool = new pg.Pool({ connectionString: url })
  await pool.query(`CREATE TABLE IF NOT EXISTS messages (
    conversation text NOT NULL, turn text NOT NULL, n int NOT NULL, at bigint NOT NULL, message jsonb NOT NULL,
    PRIMARY KEY (conversation, turn, n))`)
  await pool.query('CREATE INDEX IF NOT EXISTS messages_by_time ON messages (conversation, at, n)')

  async function messagesOf(id) {
    const text = 'SELECT message FROM messages WHERE conversation = $1 ORDER BY at, n'
    const { rows } = await pool.query({ name: 'messages', text, values: [id] })
    return rows.map(({ message }) => message)
  }
  async function save(id, messages) {
    await pool.query({
      name: 'save',
      text: `INSERT INTO messages (conversation, turn, n, at, message)
        SELECT $1, $2, n, $3, message::jsonb FROM unnest($4::text[]) WITH ORDINALITY AS row (message, n) ON CONFLICT DO NOTHING`,
      values: [id, DBOS.workflowID, Date.now(), messages.map((message) => JSON.stringify(message))],
    })
  }
  async function callOf(id, text) {
    const messages = [...(await messagesOf(id)), { role: 'user', content: text }]
    return callAfter(messages.at(-1).content)
  }
  async function finish(id, text, call, result) {
    const turn = [
      { role: 'user', content: text },
      { role: 'assistant', call },
      { role: 'tool', callId: call.id, result },
      { role: 'assistant', content: answerText },
    ]
    await save(id, turn)
    return answerText
  }
  const plain = DBOS.registerWorkflow(
    async (id, text) => {
      const call = await DBOS.runStep(() => callOf(id, text), { name: 'model' })
      const result = await DBOS.runStep(async () => look(), { name: 'look' })
      return await DBOS.runStep(() => finish(id, text, call, result), { name: 'finish' })
    },
    { name: 'turn' },
  )
  const paying = DBOS.registerWorkflow(
    async (id, text) => {
      const call = await DBOS.runStep(() => callOf(id, text), { name: 'model' })
      await DBOS.setEvent('asked', true)
      await DBOS.recv('approval', { timeoutSeconds: 600, ...polling })
      const result = await DBOS.runStep(() => pay(folder), { name: 'pay' })
      return await DBOS.runStep(() => finish(id, text, call, result), { name: 'finish' })
    },
    { name: 'paying' },
  )
  // Each process recovers its own workflows. The next process of the same server has the same id.
  DBOS.setConfig({
    name: 'bench',
    systemDatabaseUrl: url,
    logLevel: 'error',
    executorID: process.env.EXECUTOR_ID,
    applicationVersion: '1',
  })
  await DBOS.launch()
  return {
    turn: (id) => plain(id, question),
    async ask(id) {
      const workflowID = randomUUID()
      await DBOS.startWorkflow(paying, { workflowID })(id, payment)
      if (!(await DBOS.getEvent(workflowID, 'asked', { timeoutSeconds: 10, ...polling })))
        throw new Error('nothing was asked')
      return { workflowID }
    },
    async answer(_id, { workflowID }) {
      await DBOS.send(workflowID, true, 'approval')
      await DBOS.retrieveWorkflow(workflowID).getResult(polling)
    },
    async close() {
      await DBOS.shutdown()
      await pool.end()
    },
  }
}
