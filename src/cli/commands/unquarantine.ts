import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { ofTenantArgs, wholeStoreArgs, withUpkeep } from '../upkeep/with-upkeep.ts'

export const unquarantine = command({
  args: {
    conversation: { type: 'positional', required: true, description: 'Its id, or that of a session' },
    tenant: { ...ofTenantArgs.tenant, description: 'Whose it is; default: default' },
    ...wholeStoreArgs,
  },
  about:
    'Exit code 0 when it was quarantined, else 1. A conversation is quarantined when five processes in a row ended while they worked on it: find out why first, or it ends five more. perdure doctor lists those that are.',
  examples: [
    ['unquarantine ticket-42', 'have processes work on it again'],
    ['unquarantine ticket-42 --tenant acme --url http://127.0.0.1:4111', 'on a running server'],
  ],
  run: (context) =>
    withUpkeep(context, async (target) => {
      const { args, output } = context
      const { conversation, tenant = 'default' } = args
      const unquarantined = await target.unquarantine({ tenant, id: conversation })
      output.result({ tenant, id: conversation, unquarantined }, () => [
        unquarantined
          ? `Released '${conversation}': processes work on it again.`
          : `'${conversation}' is not quarantined.`,
      ])
      return unquarantined ? exitCodes.ok : exitCodes.failed
    }),
})
