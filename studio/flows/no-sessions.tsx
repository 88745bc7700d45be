import { Workflow } from 'lucide-react'

const code = `const refund = defineFlow({
  name: 'refund',
  version: 1,
  run: async (flow, { orderId }) => {
    const { ok } = await flow.suspend({ ask: 'manager', orderId })
    if (ok) await flow.step('pay', { input: { orderId } }, ({ id }) => pay(orderId, id))
  },
})
createRuntime({ agents, flows: [refund], store })`

/** How a flow is written, where there is no session of one. */
export function NoSessions() {
  return (
    <div className="grid h-full place-items-center overflow-y-auto p-4">
      <div className="flex w-full max-w-170 flex-col items-center gap-3">
        <Workflow className="size-5 text-faint" aria-hidden />
        <p className="text-center text-base">No session of a flow has been started.</p>
        <p className="text-center text-soft">
          A flow is a process written as code that waits for people, days or agents:
        </p>
        <pre className="w-full rounded-(--radius) border bg-page p-3 text-left whitespace-pre-wrap">{code}</pre>
      </div>
    </div>
  )
}
