import { defineAgent } from '../../define/define-agent.ts'
import type { DemoModels } from './demo-models.ts'
import { orders } from './orders.ts'
import { researcherTools } from './researcher-tools.ts'
import { supportTools, type ToolSurroundings } from './support-tools.ts'

/** A support agent, and the colleague it asks. */
export function demoAgents(name: string, models: DemoModels, surroundings: Omit<ToolSurroundings, 'researcher'>) {
  // A script cannot sum up.
  const context = models.isScripted ? { context: { summarise: false as const } } : {}
  const researcher = defineAgent({
    name: `${name}-researcher`,
    model: models.researcher,
    instructions: 'You find things out for a lamp shop. Read the notes, ask the supplier, and answer in two sentences.',
    tools: researcherTools,
    ...context,
  })
  const support = defineAgent({
    name,
    model: models.support,
    instructions: [
      'You are the support of a small lamp shop. Be brief and friendly. Use the tools; never invent what they would say.',
      'If a tool says that its outcome is unknown, tell exactly that, and do not run it again unless you are asked to.',
      `The orders are: ${JSON.stringify(orders)}.`,
    ].join('\n'),
    tools: supportTools({ ...surroundings, researcher }),
    ...context,
  })
  return { support, researcher }
}
