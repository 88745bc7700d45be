import { defineTool } from '../../define/define-tool.ts'

/** What the child agent works with: notes it may read, and a supplier it may only ask when somebody agrees. */
export const researcherTools = [
  defineTool({
    name: 'read_notes',
    description: 'Read the notes about our lamps.',
    input: { type: 'object', properties: {} },
    run: () => 'Reading lamps made before May have a loose switch. The supplier knows which numbers.',
  }),
  defineTool({
    name: 'ask_supplier',
    description: 'Write to the supplier. A person has to approve it.',
    input: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
    approval: 'required',
    prompt: 'Write to the supplier?',
    run: () => 'Numbers below 5000 have the old switch. We send new ones.',
  }),
] as const
